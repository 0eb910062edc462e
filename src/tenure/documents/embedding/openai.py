"""Embeddings of any endpoint that speaks OpenAI's API: `POST …/embeddings`."""

import array
import math
import sys
from collections.abc import Sequence
from typing import Any

from tenure.documents.errors import EndpointError, Trouble
from tenure.documents.llm.endpoint import Endpoint


class OpenAIEmbedder:
    """Embeds by a model of an endpoint."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        """Ask `endpoint` for vectors of `model`."""
        self._endpoint = endpoint
        self._model = model

    @property
    def name(self) -> str:
        """The model. Where it runs does not change its vectors."""
        return f"openai:{self._model}"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        answer = await self._endpoint.post("embeddings", {"model": self._model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [_vector(row["embedding"]) for row in rows]
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self._wrong(f"something that is no list of embeddings ({error!r})") from error
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise self._wrong(f"{len(vectors)} vectors for {len(texts)} texts, or vectors of different lengths")
        return vectors

    def _wrong(self, what: str) -> EndpointError:
        return EndpointError(f"{self._endpoint.base_url}/embeddings answered with {what}", Trouble.WRONG)


def _vector(numbers: Any) -> bytes:
    vector = array.array("f", numbers)
    length = math.sqrt(sum(number * number for number in vector))
    if not math.isfinite(length) or length == 0.0:
        raise ValueError("a vector of no length")
    vector = array.array("f", (number / length for number in vector))
    if sys.byteorder == "big":
        vector.byteswap()
    return vector.tobytes()
