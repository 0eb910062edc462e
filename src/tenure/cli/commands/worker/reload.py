"""`tenure worker --reload`, for development: the worker is started again when a Python file changes.

A parent watches the `*.py` files of the current folder and of the folders in it, and runs the worker as a child
process. After a change it stops the child as SIGTERM does, within its grace, and starts the next one. A worker that
cannot start, for instance because of a mistake in the file that was just saved, is started after the next change.

Files are looked at twice a second: no service of the operating system is needed, and it works in every container.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

logger = logging.getLogger("tenure.cli")

_LOOK_SECONDS = 0.5
#: Folders in which no code of the app is. Hidden ones and virtual environments are skipped too.
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})

#: The modification time and the size of each file.
Snapshot = dict[str, tuple[int, int]]


def reload(words: Sequence[str], folder: Path) -> int:
    """Run `tenure` with these arguments, again after each change in `folder`, until stopped; returns the exit code."""
    return asyncio.run(_Reloader(words, folder).run())


def snapshot(folder: Path) -> Snapshot:
    """The Python files of a folder and of those in it."""
    found: Snapshot = {}
    for file in _python_files(folder):
        try:
            status = os.stat(file)  # noqa: PTH116 - of thousands of files
        except OSError:
            continue  # removed in between
        found[file] = (status.st_mtime_ns, status.st_size)
    return found


def _python_files(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in _SKIPPED
            and not name.startswith(".")
            and not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118 - twice a second
        ]
        yield from (os.path.join(place, name) for name in files if name.endswith(".py"))  # noqa: PTH118


def difference(before: Snapshot, after: Snapshot) -> list[str]:
    """The files that were changed, added or removed."""
    return sorted({file for file, _ in before.items() ^ after.items()})


class _Reloader:
    """The parent process of a reload."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words = words
        self._folder = folder
        self._stop = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
        logger.info("for development: the worker restarts when a Python file in %s changes", self._folder)
        while True:
            # Before the start: what is saved while the worker imports it is a change.
            before = snapshot(self._folder)
            child = self._child = await asyncio.create_subprocess_exec(sys.executable, "-m", "tenure", *self._words)
            exited = asyncio.create_task(child.wait())
            changed = asyncio.create_task(self._changed(before))
            stopped = asyncio.create_task(self._stop.wait())
            await asyncio.wait((exited, changed, stopped), return_when=asyncio.FIRST_COMPLETED)
            if exited.done() and not self._stop.is_set():
                told = "the worker ended with exit code %s; it starts again when a file changes"
                logger.info(told, exited.result())
                await asyncio.wait((changed, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set():
                await changed
                self._signal(signal.SIGTERM)
            stopped.cancel()
            changed.cancel()
            code = await exited
            if self._stop.is_set():
                return max(code, 0)

    async def _changed(self, before: Snapshot) -> None:
        """Return when files have changed, and the change is complete."""
        last = before
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = snapshot(self._folder)
            if now == last and now != before:
                break
            last = now
        changes = [Path(file).relative_to(self._folder) for file in difference(before, last)]
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        logger.info("%s%s changed: restarting the worker", changes[0], more)

    def _on_signal(self, number: signal.Signals) -> None:
        self._stop.set()
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.returncode is None:
            self._child.send_signal(number)
