"""An access token: what it looks like, and what is kept of it. Pure.

    tnr_<id>_<secret>

The id is public: it names the token in lists, logs and sessions. The secret is 256 random bits; only its SHA-256 is
kept, which is enough for a value that cannot be guessed. Kept by `tokens.py`.
"""

import hashlib
import hmac
import re
import secrets

import msgspec

from tenure.server.principal import ANY_QUEUE, AccessScope, Principal

_PATTERN = re.compile(r"tnr_([0-9a-f]{12})_([0-9a-f]{64})")


class AccessToken(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a token, without its secret."""

    id: str
    #: Whose it is; the audit log names it.
    name: str
    scopes: tuple[AccessScope, ...]
    #: Names and patterns of queues.
    queues: tuple[str, ...] = ANY_QUEUE
    #: Wall times by the store's clock.
    created_at: float
    created_by: str = ""
    #: None: it does not expire.
    expires_at: float | None = None
    #: When it was last used, to the minute. None: never.
    used_at: float | None = None

    @property
    def principal(self) -> Principal:
        """The principal of this token."""
        return Principal(self.name, frozenset(self.scopes), self.queues, self.id)


class NewToken(AccessToken, frozen=True, kw_only=True):
    """A token that was just made, with its secret: shown once, kept nowhere."""

    token: str


class KeptToken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token as the store keeps it."""

    token: AccessToken
    #: SHA-256 of the whole text, in hex.
    digest: str
    #: The namespace of the app for which it was made: apps that share a store do not share tokens.
    namespace: str | None = None

    def fits(self, text: str) -> bool:
        """Whether this is the token's text. Takes as long whatever is wrong with it."""
        return hmac.compare_digest(self.digest, digest_of(text))


def new_text() -> tuple[str, str]:
    """Make a new id, and the text with its secret."""
    id = secrets.token_hex(6)
    return id, f"tnr_{id}_{secrets.token_hex(32)}"


def id_in(text: str) -> str | None:
    """The id in a token's text. None: it is no token of ours."""
    found = _PATTERN.fullmatch(text)
    return None if found is None else found[1]


def digest_of(text: str) -> str:
    """Return the digest of a token's text, which is kept instead of it."""
    return hashlib.sha256(text.encode()).hexdigest()
