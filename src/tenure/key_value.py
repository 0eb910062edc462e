"""A key-value: a small JSON document by kind and name, changed by compare-and-set.

For what is neither a message nor an event: access tokens, the secret that signs cookies, answers to questions. Kept by
`KeyValues` (`state.py`) until it is removed, or until its own time is over.
"""

import msgspec

#: A document may have so many bytes: some stores keep a row of 64 KiB at most.
MOST_BYTES = 32 * 1024
#: So many of one kind are listed.
MOST_LISTED = 10_000


class KeyValue(msgspec.Struct, frozen=True, kw_only=True):
    """One document, and the version that it has now."""

    #: What it is, such as `token`: letters, digits, dots and dashes.
    kind: str
    #: Tells it apart from others of its kind; any text up to 200 characters.
    name: str
    data: bytes
    #: Opaque, and another one after each write.
    version: str
    #: Wall time by the store's clock from which on it counts as gone. None: never.
    expires_at: float | None = None
