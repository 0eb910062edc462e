"""Vectors in memory, compared one by one by numpy. Used by `sqlite.py`."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tenure.errors import MissingExtra

#: Chunks in a document set. With 256 numbers each they take 100 MB.
MOST_VECTORS = 100_000
#: So many sets stay in memory.
_SETS = 4

Load = Callable[[], tuple[list[int], list[bytes]]]


class VectorCache:
    """The vectors of the sets that were last asked for."""

    def __init__(self) -> None:
        """Keep none."""
        self._sets: OrderedDict[str, tuple[str, list[int], Any]] = OrderedDict()
        self._lock = threading.Lock()

    def nearest(self, name: str, version: str, load: Load, vector: bytes, most: int) -> list[int]:
        """The ids of the nearest vectors of a set, nearest first. Loads them if `version` has changed."""
        try:
            import numpy as np
        except ImportError as error:
            raise MissingExtra("search by meaning needs numpy: pip install 'tenure[documents]'") from error
        with self._lock:
            kept = self._sets.get(name)
            if kept is None or kept[0] != version:
                ids, rows = load()
                matrix = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), -1) if rows else None
                kept = (version, ids, matrix)
                self._sets[name] = kept
            self._sets.move_to_end(name)
            while len(self._sets) > _SETS:
                self._sets.popitem(last=False)
        _, ids, matrix = kept
        if matrix is None:
            return []
        nearness = matrix @ np.frombuffer(vector, dtype="<f4")
        # Of equal ones the first: the order is the same on every run.
        return [ids[at] for at in np.argsort(-nearness, kind="stable")[:most]]
