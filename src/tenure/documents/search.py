"""Hybrid search: by words and by meaning, the two lists joined by rank.

A chunk's score is the sum of 1 ÷ (60 + rank) over the lists that have it (reciprocal rank fusion), as a share of that
of one that is first in all of them. Ranks can be added where scores cannot: bm25 and cosines have no common scale.
"""

from collections.abc import Iterable
from enum import StrEnum

from tenure.documents.chunk import Hit
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.stores.index import Candidate, Index, Question
from tenure.documents.stores.words import words_of
from tenure.errors import BadArgument

#: The smaller, the more the first places count. 60 is the value of the paper that compared them.
_K = 60
#: Candidates in each list.
_MOST = 50
_MOST_HITS = 100
#: A longer question is no question.
_LONGEST = 10_000


class Mode(StrEnum):
    """How to look."""

    HYBRID = "hybrid"
    TEXT = "text"
    VECTOR = "vector"


async def search(
    index: Index, embedder: Embedder | None, question: str, document_set: str, *, limit: int, mode: Mode
) -> list[Hit]:
    """The chunks that answer a question best, best first."""
    if not 1 <= limit <= _MOST_HITS:
        raise BadArgument(f"limit must be from 1 to {_MOST_HITS}, not {limit}")
    if not question.strip() or len(question) > _LONGEST:
        raise BadArgument(f"a question has from 1 to {_LONGEST:,} characters")
    if mode is Mode.VECTOR and embedder is None:
        raise BadArgument("there is no embedder, so nothing can be found by meaning; search with mode text")
    vector = None
    if embedder is not None and mode is not Mode.TEXT:
        (vector,) = await embedder.embed([question])
    words = () if mode is Mode.VECTOR else words_of(question)
    most = max(_MOST, limit)
    found = await index.find(Question(document_set=document_set, words=words, vector=vector, most=most))
    lists = (bool(words)) + (vector is not None)
    return fused(found, lists)[:limit]


def fused(found: Iterable[Candidate], lists: int) -> list[Hit]:
    """The candidates of `lists` lists as one, best first."""
    best = max(lists, 1) / (_K + 1)
    hits = [
        Hit(
            document_set=one.document_set, name=one.name, number=one.number, title=one.title, heading=one.heading,
            page=one.page, text=one.text, score=(_share(one.text_rank) + _share(one.vector_rank)) / best,
            text_rank=one.text_rank, vector_rank=one.vector_rank,
        )
        for one in found
    ]  # fmt: skip
    return sorted(hits, key=lambda hit: (-hit.score, hit.name, hit.number))


def _share(rank: int | None) -> float:
    return 0.0 if rank is None else 1.0 / (_K + rank)
