"""The rows of the index, as PostgreSQL and Supabase have them."""

import array
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.stores.index import Question

DOCUMENT = ("document_set", "name", "version", "title", "chunks", "pages", "size")
CHUNK = ("number", "text", "heading", "page")


def document_row(document: StoredDocument) -> dict[str, Any]:
    """The row of a document."""
    return msgspec.structs.asdict(document)


def chunk_rows(
    document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None
) -> list[dict[str, Any]]:
    """The rows of its chunks."""
    texts: list[str | None] = [None] * len(chunks) if vectors is None else [vector_text(one) for one in vectors]
    return [
        {
            "document_set": document.document_set, "name": document.name, "version": document.version,
            "number": chunk.number, "page": chunk.page, "title": document.title, "heading": chunk.heading,
            "text": chunk.text, "embedding": text,
        }
        for chunk, text in zip(chunks, texts, strict=True)
    ]  # fmt: skip


def asked(question: Question) -> dict[str, Any]:
    """The arguments of `match_documents`."""
    return {
        "query_words": " or ".join(question.words),
        "query_embedding": None if question.vector is None else vector_text(question.vector),
        "match_count": question.most,
        "filter": {"document_set": question.document_set},
    }


def vector_text(vector: bytes) -> str:
    """A vector as pgvector reads it."""
    numbers = array.array("f")
    numbers.frombytes(vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return f"[{','.join(f'{number:.7g}' for number in numbers)}]"
