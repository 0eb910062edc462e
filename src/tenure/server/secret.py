"""The server's secret: signs sessions, the same for every server of one store.

`TENURE_SECRET_KEY` if it is set, else 256 random bits in the store, made once by whichever server is first. Keys for
different purposes are derived from it.
"""

import hashlib
import hmac
import secrets

import msgspec

from tenure.app import Tenure

KIND = "server.secret"
_NAME = "1"


class _Kept(msgspec.Struct, frozen=True):
    secret: bytes


class Secret:
    """One secret, read once."""

    def __init__(self, app: Tenure, *, writes: bool = True) -> None:
        """`writes=False`: where the store has none, it is this process's own."""
        self._app = app
        self._writes = writes
        self._secret: bytes | None = None

    async def key(self, purpose: str) -> bytes:
        """A key for one purpose."""
        if self._secret is None:
            self._secret = await self._load()
        return hmac.digest(self._secret, purpose.encode(), hashlib.sha256)

    async def _load(self) -> bytes:
        given = self._app.settings.secret_key
        if given is not None:
            return given.encode()
        values = self._app.state.key_values
        value = await values.get(KIND, _NAME)
        if value is None and self._writes:
            made = msgspec.json.encode(_Kept(secrets.token_bytes(32)))
            # Another server may have been faster: then its secret is everybody's.
            value = await values.put(KIND, _NAME, made, expect=None) or await values.get(KIND, _NAME)
        return secrets.token_bytes(32) if value is None else msgspec.json.decode(value.data, type=_Kept).secret
