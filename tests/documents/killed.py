"""A program that ingests a folder and is killed (`kill -9` of itself) at one point of it, for `test_killing.py`.

python -m tests.documents.killed FOLDER POINT NAME
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure import Tenure
from tenure.documents import Library
from tenure.documents.sources.folder import FolderSource
from tenure.documents.stores import sqlite
from tenure.documents.stores.sqlite import SqliteIndex

from .embedders import WordEmbedder


def _die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _at(point: str, name: str) -> None:
    """Die at that point of the document of this name."""
    places: dict[str, tuple[Any, str, bool]] = {
        "before the fetch": (FolderSource, "fetch", False),
        "after the fetch": (FolderSource, "fetch", True),
        "before the write": (SqliteIndex, "put", False),
        "after the write": (SqliteIndex, "put", True),
    }
    if point == "in the write":
        # The chunks are written, the document is not, and nothing is committed.
        original = SqliteIndex.put

        async def put(self: SqliteIndex, document: Any, chunks: Any, vectors: Any) -> None:
            if document.name == name:
                sqlite._count_change = _die  # type: ignore[assignment]
            await original(self, document, chunks, vectors)

        SqliteIndex.put = put  # type: ignore[method-assign]
        return
    kind, verb, after = places[point]
    setattr(kind, verb, _dying(getattr(kind, verb), name, after=after))


def _dying(verb: Callable[..., Any], name: str, *, after: bool) -> Callable[..., Any]:
    async def run(self: Any, first: Any, *rest: Any) -> Any:
        is_it = (first if isinstance(first, str) else first.name).endswith(name)
        if is_it and not after:
            _die()
        result = await verb(self, first, *rest)
        if is_it:
            _die()
        return result

    return run


async def main(folder: Path, point: str, name: str) -> None:
    if point != "nowhere":
        _at(point, name)
    library = Library(
        f"sqlite:///{folder}/documents.db", f"file://{folder}/source", embedder=WordEmbedder(), environment={}
    )
    app = Tenure(f"sqlite:///{folder}/jobs.db", client="south")
    library.register(app)
    async with app, app.worker():
        handle = await app.submit("ingest", {"filename": ""}, id="the-folder")
        sys.stdout.write(f"{await handle.result()}\n")
    await library.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
