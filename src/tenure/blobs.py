"""The blob store port: keeps bodies that are too large for the broker, until their messages are done.

The sender stores the body first, and the message carries a ticket; a worker fetches the body when it runs the message.
A name belongs to one message and one payload (`name_of`), so storing a body twice stores it once, and no body is ever
overwritten by another.

Implemented by `adapters/*`; tested by `tenure.testing.conformance.blobs`. All verbs take a batch. They raise
`BrokerUnavailable` when the place is away, and nothing else for an outage. Used by `client/claim_check.py`.
"""

import hashlib
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote, unquote

import msgspec

from tenure.message import Message

#: Longer ids are not spelled out in a name: a file's name has 255 bytes.
_LONGEST = 120
_TAIL = 32


class StoredBlob(msgspec.Struct, frozen=True):
    """One stored body."""

    name: str
    size: int
    #: Since it was left, or left again.
    age_seconds: float


class BlobOwner(msgspec.Struct, frozen=True):
    """The owner of a body, as far as its name says. `id` is None where the id was too long for it."""

    queue: str
    id: str | None


class BlobStore(Protocol):
    """Keeps bodies by name."""

    @property
    def place(self) -> str:
        """The place of the store, for people: no secrets."""
        ...

    @property
    def keep_seconds(self) -> float:
        """How long a body is kept that belongs to no known message."""
        ...

    async def open(self) -> None:
        """Connect. Raises `StoreMissing` where there is no such place and it was not to be made."""
        ...

    async def close(self) -> None:
        """Close every connection. What was stored stays."""
        ...

    def twin(self) -> "BlobStore":
        """Return the same store for another thread's event loop; itself, if any loop may call it."""
        ...

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Store these. When it returns, none of them can be lost. A name that exists already is renewed."""
        ...

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """The bodies, whole. None: there is none of that name."""
        ...

    async def discard(self, names: Sequence[str]) -> None:
        """Delete these. A missing one is not an error."""
        ...

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """The stored bodies in the order of their names, from the first after `after` on."""
        ...


def name_of(message: Message, digest: str) -> str:
    """The name for the body of `message`: no other message has it, and it is the same at each send.

    The tail is of id and payload, so that two payloads under one id are apart, and so are ids that some file system
    takes for the same.
    """
    tail = hashlib.sha256(f"{message.id}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()[:_TAIL]
    id = _word(message.id)
    if len(id) > _LONGEST:
        id = f"~{hashlib.sha256(id.encode()).hexdigest()}"
    return "/".join([*map(_word, message.queue.split("/")), f"{id}.{tail}"])


def owner_of(name: str) -> BlobOwner:
    """Return the owner of the body with that name."""
    queue, _, rest = name.rpartition("/")
    queue = unquote(queue, errors="surrogatepass")
    id, _, _ = rest.rpartition(".")
    # `~` marks an id that is not spelled out. One that begins with it is rare, and only kept longer.
    return BlobOwner(queue, None if not id or id.startswith("~") else unquote(id, errors="surrogatepass"))


def _word(text: str) -> str:
    """Escape one part of a name, so that no message can name another folder."""
    word = quote(text, safe="", errors="surrogatepass") or "%"
    return f"%2E{word[1:]}" if word.startswith(".") else word
