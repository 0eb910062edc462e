"""Runs one task of a library in this process: a message in memory, and a worker for it."""

from collections.abc import Callable
from typing import Any

from tenure import Handle, Tenure
from tenure.documents.library import Library


async def run_one(library: Library, task: str, payload: dict[str, Any], show: Callable[[str], None]) -> Any:
    """Run a task, and return its result. `show` is given what it says about its progress."""
    app = Tenure("memory://")
    library.register(app, tasks=[task])
    async with app, app.worker(concurrency=1):
        handle: Handle[Any] = await app.submit(task, payload)
        async for update in handle.updates():
            if update.progress is not None and not update.is_last:
                show(update.progress.note)
        return await handle.result()
