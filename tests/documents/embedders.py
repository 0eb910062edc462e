"""An embedder for tests: it needs no package, and says how often it was asked."""

import array
import hashlib
import math
from collections.abc import Sequence

SIZE = 64


class WordEmbedder:
    """A vector has a number for each of a few classes of words: texts that share words are near."""

    name = "words-64"

    def __init__(self) -> None:
        self.texts = 0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.texts += len(texts)
        return [vector(text) for text in texts]


def vector(text: str) -> bytes:
    numbers = [0.0] * SIZE
    for word in text.lower().split():
        numbers[hashlib.sha256(word.encode()).digest()[0] % SIZE] += 1.0
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return array.array("f", (number / length for number in numbers)).tobytes()
