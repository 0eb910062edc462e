"""The values of the package: a part of a document as it was read, a chunk of it, a document in the index, a hit.

`reading` makes parts, `chunking.py` makes chunks of them, `stores` keep those, `search.py` answers with hits.
"""

import msgspec


class Part(msgspec.Struct, frozen=True):
    """A piece of text as it stands in a document, below one heading and on one page."""

    text: str
    #: The headings above it, outermost first.
    headings: tuple[str, ...] = ()
    #: Counted from 1. None: this kind of document has no pages.
    page: int | None = None


class Chunk(msgspec.Struct, frozen=True):
    """A piece of a document that is found as a whole. Its number in the document is its identity."""

    number: int
    text: str
    #: The headings above it, joined; empty where there are none.
    heading: str = ""
    #: The page on which it begins. None: this kind of document has no pages.
    page: int | None = None


class StoredDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document in the index."""

    document_set: str
    name: str
    #: The SHA-256 of its bytes and of what its chunks depend on: the same document is not indexed twice.
    version: str
    title: str
    chunks: int
    pages: int | None
    size: int


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that was found."""

    document_set: str
    name: str
    number: int
    title: str
    heading: str
    page: int | None
    text: str
    #: Its share of what a chunk could reach that is first in every list, from 0 to 1.
    score: float
    #: Its place among those found by words, from 1. None: it was not found by words.
    text_rank: int | None
    #: Its place among those found by meaning. None: it was not found so.
    vector_rank: int | None
