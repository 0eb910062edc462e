"""How much two texts have in common: MinHash over runs of four words.

A signature is a few numbers that can be kept beside the text; the part in which two signatures agree estimates the part
of the runs that both texts have.
"""

import hashlib
import re

_RUN = 4
_PERMUTATIONS = 64
_PRIME = (1 << 61) - 1
_FACTORS = tuple(
    (int.from_bytes(hashlib.blake2b(b"a%d" % n, digest_size=7).digest()) | 1, n * 0x9E3779B97F4A7C15 % _PRIME)
    for n in range(_PERMUTATIONS)
)
#: From this resemblance on, two articles tell the same story.
SAME_STORY = 0.5


def signature_of(text: str) -> list[int]:
    """The signature of a text."""
    words = re.findall(r"\w+", text.lower())
    runs = {" ".join(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))}
    hashes = [int.from_bytes(hashlib.blake2b(run.encode(), digest_size=7).digest()) for run in runs]
    return [min((factor * one + offset) % _PRIME for one in hashes) for factor, offset in _FACTORS]


def resemblance(first: list[int], second: list[int]) -> float:
    """From 0.0, nothing in common, to 1.0, the same text."""
    return sum(a == b for a, b in zip(first, second, strict=True)) / _PERMUTATIONS
