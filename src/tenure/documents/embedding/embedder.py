"""The embedder port, and what its vectors are kept as."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Makes a vector of each text."""

    @property
    def name(self) -> str:
        """What made the vectors. Vectors of different names cannot be compared; the index keeps the name."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text: 32-bit floats, of length 1, little-endian. Raises `EndpointError`."""
        ...
