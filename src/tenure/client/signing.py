"""Signing: what Tenure hands out and later gets back is signed, so that others cannot make or change it.

Sessions of browsers, lease tokens and watch links are signed with keys that are derived from one secret, a key for each
purpose: what was signed for one is worth nothing for another. The secret is `TENURE_SECRET_KEY`, else 256 random bits
that the store keeps, made once by the first process that signs. So every process of a store accepts what another one
signed, also after it was started again.

Rotation: what was signed with `TENURE_OLD_SECRET_KEYS` is still accepted. A secret in the store is replaced by
`rotate`; the old one is accepted until it expires.

A signature is `{id of the secret}{HMAC-SHA256}`, 51 characters of A–Z, a–z, 0–9, `-` and `_`.
"""

import base64
import hashlib
import hmac
import secrets

import msgspec

from tenure.clock import Clock
from tenure.config import Settings
from tenure.state import State

KIND = "server.secret"
#: A secret that was replaced is accepted for this long.
KEEP_SECONDS = 30 * 86_400.0
#: What the store said is believed for so long. A signature by a secret that is not known asks again, after a pause.
_FRESH_SECONDS, _PAUSE_SECONDS = 60.0, 5.0
_ID_LENGTH = 8


class _StoredSecret(msgspec.Struct, frozen=True):
    secret: bytes


class Signing:
    """Signs texts, and checks signatures, for one store."""

    def __init__(self, state: State, clock: Clock, settings: Settings, *, writes: bool = True) -> None:
        """`writes=False`: where the store has no secret, this process uses one of its own."""
        self._state = state
        self._clock = clock
        given = settings.secret_key
        self._given = [] if given is None else [one.encode() for one in (given, *settings.old_secret_keys)]
        self._writes = writes
        #: The newest first.
        self._known: list[bytes] = self._given
        self._read_at = -_FRESH_SECONDS

    async def sign(self, purpose: str, text: str) -> str:
        """The signature of `text` for one purpose."""
        return _signature((await self._secrets(_FRESH_SECONDS))[0], purpose, text)

    async def is_signed(self, purpose: str, text: str, signature: str) -> bool:
        """Whether `signature` was made for this text and purpose, by a secret that is still accepted."""
        id = signature[:_ID_LENGTH]
        known = {_id(secret): secret for secret in await self._secrets(_FRESH_SECONDS)}
        if id not in known:  # perhaps another process has replaced the secret a moment ago
            known = {_id(secret): secret for secret in await self._secrets(_PAUSE_SECONDS)}
        secret = known.get(id)
        if secret is None:
            return False
        return hmac.compare_digest(signature.encode(), _signature(secret, purpose, text).encode())

    async def rotate(self) -> None:
        """Replace the secret that the store keeps; the old one is accepted for 30 more days."""
        values = self._state.key_values
        before = await values.list(KIND)
        number = max((int(one.name) for one in before), default=0) + 1
        await values.put(KIND, str(number), _new(), expect=None)
        for one in before:
            if one.expires_at is None:
                until = self._state.wall() + KEEP_SECONDS
                await values.put(KIND, one.name, one.data, expect=one.version, expires_at=until)
        self._read_at = -_FRESH_SECONDS

    async def _secrets(self, fresh_seconds: float) -> list[bytes]:
        now = self._clock.monotonic()
        if not self._given and (not self._known or now - self._read_at >= fresh_seconds):
            self._known = await self._load() or self._known or [secrets.token_bytes(32)]
            self._read_at = now
        return self._known

    async def _load(self) -> list[bytes]:
        values = self._state.key_values
        found = await values.list(KIND)
        if not found and self._writes:
            # Another process may have been faster: then its secret is everybody's.
            await values.put(KIND, "1", _new(), expect=None)
            found = await values.list(KIND)
        newest_first = sorted(found, key=lambda one: int(one.name), reverse=True)
        return [msgspec.json.decode(one.data, type=_StoredSecret).secret for one in newest_first]


def _new() -> bytes:
    return msgspec.json.encode(_StoredSecret(secrets.token_bytes(32)))


def _id(secret: bytes) -> str:
    return hashlib.sha256(b"id:" + secret).hexdigest()[:_ID_LENGTH]


def _signature(secret: bytes, purpose: str, text: str) -> str:
    key = hmac.digest(secret, purpose.encode(), hashlib.sha256)
    digest = hmac.digest(key, text.encode(), hashlib.sha256)
    return _id(secret) + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
