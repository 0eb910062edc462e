"""A key-value: a small JSON document by kind and name, changed by compare-and-set.

For what is neither a message nor an event: access tokens, the secret that signs cookies, answers to questions. Kept by
`KeyValues` (`state.py`) until it is removed, or until its own time is over.
"""

import hashlib
import os

import msgspec

#: A document may have this many bytes: some stores keep a row of 64 KiB at most.
MOST_BYTES = 32 * 1024
#: A name may have this many characters: its bytes must fit into the key of a row.
MOST_NAME = 200
#: This many of one kind are listed.
MOST_LISTED = 10_000


def new_version() -> str:
    """A version that no document had before: one that is removed and made again is not taken for the old one."""
    return os.urandom(8).hex()


def name_of(id: str) -> str:
    """The name under which something is kept, or posted, about this id: the id itself, or its hash where it is long."""
    return id if len(id) <= MOST_NAME else f"sha256:{hashlib.sha256(id.encode()).hexdigest()}"


class KeyValue(msgspec.Struct, frozen=True, kw_only=True):
    """One document, and the version that it has now."""

    #: What it is, such as `token`: letters, digits, dots and dashes.
    kind: str
    #: Tells it apart from others of its kind; up to `MOST_NAME` characters, none of them a control character.
    name: str
    data: bytes
    #: Opaque, and another one after each write.
    version: str
    #: Wall time by the store's clock from which on it counts as gone. None: never.
    expires_at: float | None = None

    def has_expired(self, wall: float) -> bool:
        """Whether its time is over at `wall`, by the store's clock."""
        return self.expires_at is not None and self.expires_at <= wall
