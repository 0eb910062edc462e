"""The port of an index.

Implemented by `sqlite.py`, `postgres.py` and `supabase.py`; one suite of tests holds all three to it.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.errors import IndexMismatch


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that an index found, with its place in each of the two lists."""

    document_set: str
    name: str
    number: int
    title: str
    heading: str
    page: int | None
    text: str
    #: From 1. None: it is not among the first in this list.
    text_rank: int | None
    vector_rank: int | None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for."""

    document_set: str
    #: The words to look for, in order; an empty list: not by words.
    words: tuple[str, ...]
    #: None: not by meaning.
    vector: bytes | None
    #: How many candidates each list has.
    most: int


class Index(Protocol):
    """Keeps documents and finds chunks. Verbs raise `IndexUnavailable`, or `EndpointError`, if it is away."""

    @property
    def place(self) -> str:
        """Where it is, for people: no secrets."""
        ...

    async def open(self, embedder: Embedder | None) -> None:
        """Connect, and create what is missing. Raises `IndexMismatch` where vectors of another embedder are there."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...

    async def version(self, document_set: str, name: str) -> str | None:
        """The version of a document. None: it is not in the index."""
        ...

    async def put(self, document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None) -> None:
        """Replace a document with all its chunks."""
        ...

    async def remove(self, document_set: str, name: str) -> bool:
        """Remove a document. False: there was none."""
        ...

    async def find(self, question: Question) -> list[Candidate]:
        """The candidates, in no order."""
        ...

    async def documents(self, document_set: str | None = None) -> list[StoredDocument]:
        """The documents, by set and name."""
        ...

    async def chunks(self, document_set: str, name: str) -> list[Chunk]:
        """The chunks of a document, in order. Empty: it is not in the index."""
        ...

    async def save_summary(self, document_set: str, name: str, version: str, summary: str) -> None:
        """Keep a summary of this version of a document, in place of an older one."""
        ...

    async def summary(self, document_set: str, name: str) -> str | None:
        """The summary of a document. None: none was made."""
        ...


def compare(place: str, kept: str, embedder: str) -> None:
    """Raise `IndexMismatch` where the vectors of an index are of another embedder."""
    if kept != embedder:
        raise IndexMismatch(
            f"the vectors of {place} were made by {kept}, and {embedder} is set now: set the embedder back, or ingest"
            " all documents into a new index. Nothing was changed"
        )
