"""The cloakroom port: keeps bodies that are too large for the broker, until their messages are done.

Whoever sends leaves the body first, and the message carries a ticket; a worker fetches it when it runs the message. A
name belongs to one message and one payload (`name_of`), so leaving twice is leaving once, and nobody's body is ever
overwritten by another.

Implemented by `adapters/*`; held to its word by `tenure.testing.conformance.cloakroom`. All verbs take a batch, and
raise `BrokerUnavailable` when the place is away, and nothing else for an outage. Used by `claim_check.py`.
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


class Left(msgspec.Struct, frozen=True):
    """One body that lies there."""

    name: str
    size: int
    #: Since it was left, or left again.
    age_seconds: float


class Owner(msgspec.Struct, frozen=True):
    """Whose body it is, as far as its name tells. `id` is None where the id was too long for it."""

    queue: str
    id: str | None


class Cloakroom(Protocol):
    """Keeps bodies by name."""

    @property
    def place(self) -> str:
        """Where it is, for people: no secrets."""
        ...

    @property
    def keep_seconds(self) -> float:
        """How long a body is kept that belongs to no message anybody knows of."""
        ...

    async def open(self) -> None:
        """Connect. Raises `StoreMissing` where there is no such place and it was not to be made."""
        ...

    async def close(self) -> None:
        """Let go of everything; what was left stays."""
        ...

    def twin(self) -> "Cloakroom":
        """The same place for another thread's event loop; itself, if any loop may call it."""
        ...

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Keep these. When it returned, none of them can be lost; a name that is there already is renewed."""
        ...

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """The bodies, whole. None: there is none of that name."""
        ...

    async def discard(self, names: Sequence[str]) -> None:
        """Keep these no longer. What is not there is no mistake."""
        ...

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[Left]:
        """What lies there, in the order of names, from the first after `after` on."""
        ...


def name_of(message: Message, digest: str) -> str:
    """The name for the body of `message`: nobody else's, and the same each time it is sent.

    The tail is of id and payload, so that two payloads under one id are apart, and so are ids that some file system
    takes for the same.
    """
    tail = hashlib.sha256(f"{message.id}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()[:_TAIL]
    id = _word(message.id)
    if len(id) > _LONGEST:
        id = f"~{hashlib.sha256(id.encode()).hexdigest()}"
    return "/".join([*map(_word, message.queue.split("/")), f"{id}.{tail}"])


def owner_of(name: str) -> Owner:
    """Whose body has that name."""
    queue, _, rest = name.rpartition("/")
    queue = unquote(queue, errors="surrogatepass")
    id, _, _ = rest.rpartition(".")
    # `~` stands for an id that is not spelled out. One that begins with it is rare, and only kept longer.
    return Owner(queue, None if not id or id.startswith("~") else unquote(id, errors="surrogatepass"))


def _word(text: str) -> str:
    """One part of a name: whatever a message says of itself, it leads to no other folder."""
    word = quote(text, safe="", errors="surrogatepass") or "%"
    return f"%2E{word[1:]}" if word.startswith(".") else word
