"""A watch link: opens one message for reading, in a browser, until it expires.

    {what it opens, as base64url of JSON}.{signature}

It names the message, when it expires, and whether it shows the result and the texts of errors. It is signed
(`signing.py`), so others cannot make or change one, and it is kept nowhere: every holder may read. A secret that is
no longer accepted ends every link that it signed.

Made by `Handle.watch_url`; read by `server/watch_links.py`.
"""

import base64
import binascii
from datetime import timedelta
from urllib.parse import quote

import msgspec

from tenure.client.signing import KEEP_SECONDS, Signing
from tenure.config import Settings
from tenure.errors import BadArgument, ConfigurationError

_PURPOSE = "watch"


class WatchGrant(msgspec.Struct, frozen=True, array_like=True):
    """What a link opens."""

    #: The message, as it is stored.
    id: str
    #: Wall time by the store's clock, in whole seconds.
    expires_at: int
    #: Whether the result and the texts of errors are shown, besides state and progress.
    shows_result: bool = False


async def watch_token(signing: Signing, grant: WatchGrant) -> str:
    """The text that opens it."""
    said = base64.urlsafe_b64encode(msgspec.json.encode(grant)).rstrip(b"=").decode()
    return f"{said}.{await signing.sign(_PURPOSE, said)}"


async def grant_of(signing: Signing, token: str) -> WatchGrant | None:
    """What a text opens, or opened before it expired. None: it was not made here, or was changed."""
    said, _, signature = token.rpartition(".")
    if not said.isascii() or not signature.isascii() or not await signing.is_signed(_PURPOSE, said, signature):
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)), type=WatchGrant)
    except (binascii.Error, msgspec.MsgspecError):
        return None


def expires_at(wall: float, expires: float | timedelta) -> int:
    """The moment at which a link expires. Raises `BadArgument`."""
    seconds = expires.total_seconds() if isinstance(expires, timedelta) else expires
    if not 0 < seconds <= KEEP_SECONDS:
        msg = f"expires={expires!r} is no time of a watch link: seconds or a timedelta, above 0, at most 30 days"
        raise BadArgument(msg)
    return int(wall + seconds)


def watch_address(settings: Settings, server: str | None, id: str, token: str) -> str:
    """The address that a browser opens as an `EventSource`. Raises `ConfigurationError`."""
    base = server or settings.public_url
    if base is None:
        msg = (
            "a watch link needs the address of the server that answers it: set TENURE_PUBLIC_URL, or give it as "
            "watch_url(server='https://tenure.example.com')"
        )
        raise ConfigurationError(msg)
    return f"{base.rstrip('/')}/api/v1/messages/{quote(id, safe='')}/events?watch={token}"
