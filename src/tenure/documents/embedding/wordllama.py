"""wordllama: small static embeddings, 256 numbers a text. Its model is in the wheel, so nothing is fetched.

It is loaded when it is first used (0.2 s, 40 MB), and runs in a thread.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenure.errors import MissingExtra

#: A model, once for a process.
_loaded: list[Any] = []
_loading = threading.Lock()


def is_installed() -> bool:
    """Whether wordllama is here. There is no wheel of it for every Python."""
    from importlib.util import find_spec

    return find_spec("wordllama") is not None and find_spec("numpy") is not None


class WordLlamaEmbedder:
    """Embeds offline."""

    name = "wordllama-l2_supercat-256"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        return await asyncio.to_thread(_embed, list(texts))


def _embed(texts: list[str]) -> list[bytes]:
    import numpy as np

    vectors = _model().embed(texts, norm=True)
    return [row.tobytes() for row in np.asarray(vectors, dtype="<f4")]


def _imported() -> Any:
    """The package. It sets up logging for the whole program when it is imported: that is undone."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    import wordllama  # type: ignore[import-untyped, unused-ignore]

    root.handlers[:] = handlers
    root.setLevel(level)
    return wordllama


def _model() -> Any:
    with _loading:
        if not _loaded:
            try:
                wordllama = _imported()
            except ImportError as error:
                raise MissingExtra(
                    "embedding offline needs wordllama: pip install 'tenure[documents]'; there is no wheel of it for"
                    " every Python, and TENURE_DOCUMENTS_EMBEDDER=none searches by words alone"
                ) from error
            # The package's own folder has the layout of a cache.
            here = Path(wordllama.__file__).parent
            _loaded.append(wordllama.WordLlama.load(disable_download=True, cache_dir=here))
        return _loaded[0]
