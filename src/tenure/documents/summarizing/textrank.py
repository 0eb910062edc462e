"""TextRank: the sentences of a text that are most like the others, in the order of the text. No model is needed.

Sentences are points, and two that share words are joined, the more words the tighter. A walk along the joints, which
now and then jumps, is at important sentences more often than at others: that is PageRank (Mihalcea and Tarau, 2004).
"""

import math
import re
from collections.abc import Iterable, Sequence

from tenure.documents.stores.words import words_of

#: More sentences than this are ranked in parts: the work grows with the square.
MOST = 200
_DAMPING = 0.85
_ROUNDS = 30
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[A-ZÀ-ÞА-Я0-9])|\n{2,}")
#: Shorter ones are headings and remains of tables; longer ones are code and lists.
_WORDS = range(5, 80)


def sentences_of(texts: Iterable[str]) -> list[str]:
    """The sentences of texts, each once."""
    found = (" ".join(one.split()) for text in texts for one in _SENTENCE.split(text))
    return list(dict.fromkeys(one for one in found if len(one.split()) in _WORDS))


def most_important(sentences: Sequence[str], wanted: int) -> list[str]:
    """So many of the sentences, in their order."""
    while len(sentences) > MOST:
        parts = [sentences[start : start + MOST] for start in range(0, len(sentences), MOST)]
        share = max(wanted, MOST // (len(parts) + 1))
        sentences = [one for part in parts for one in _best(part, min(share, len(part) // 2 + 1))]
    return _best(sentences, wanted)


def _best(sentences: Sequence[str], wanted: int) -> list[str]:
    ranks = rank(sentences)
    first = sorted(range(len(sentences)), key=lambda at: (-ranks[at], at))[:wanted]
    return [sentences[at] for at in sorted(first)]


def rank(sentences: Sequence[str]) -> list[float]:
    """How important each sentence is among the others."""
    words = [frozenset(words_of(one)) for one in sentences]
    count = len(sentences)
    joints: list[list[tuple[int, float]]] = [[] for _ in sentences]
    weights = [0.0] * count
    for one in range(count):
        for other in range(one + 1, count):
            likeness = _likeness(words[one], words[other])
            if likeness > 0.0:
                joints[one].append((other, likeness))
                joints[other].append((one, likeness))
                weights[one] += likeness
                weights[other] += likeness
    ranks = [1.0] * count
    for _ in range(_ROUNDS):
        ranks = [
            1 - _DAMPING + _DAMPING * sum(ranks[other] * likeness / weights[other] for other, likeness in joints[one])
            for one in range(count)
        ]
    return ranks


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words, less for long sentences, which share some with every other."""
    shared = len(one & other)
    return shared / (math.log(len(one) + 1) + math.log(len(other) + 1)) if shared else 0.0
