"""Bodies as files: written to a temporary name, flushed to the disk, and renamed in one step.

So a file under its final name is complete, even if a process dies. A file that a dead process was writing stays in
`.coming`, and is removed when the folder is next opened, a day later at the earliest.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tenure.blobs import StoredBlob
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable, StoreMissing, StoreUnwritable
from tenure.examination import Area, Examination
from tenure.rules.disk_room import find_low_room, room

T = TypeVar("T")

_COMING = ".coming"
#: No process writes one file for a day.
_FORGOTTEN_SECONDS = 86_400.0


class FolderBlobStore:
    """One folder; any loop may call it. Files are read and written in threads."""

    def __init__(self, path: str, clock: Clock, *, create: bool, keep_seconds: float) -> None:
        """Take the folder's path, without opening it. `create`: make the folder if it is missing."""
        self.place = f"file://{path.rstrip('/')}"
        self.keep_seconds = keep_seconds
        self._root = Path(path)
        self._clock = clock
        self._create = create
        self._busy = 0

    def twin(self) -> "FolderBlobStore":
        """Return itself: any loop may call it."""
        return self

    async def open(self) -> None:
        """Make the folder, and remove files that will never be finished."""
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None:  # virtual time must not go on while a disk is at work
            watch(lambda: self._busy > 0)
        await self._in_thread("opening", self._open)

    def _open(self) -> None:
        if not self._create and not self._root.is_dir():
            msg = f"{self.place} is not there, and was not to be made; nothing was created. Check the path, or mount it"
            raise StoreMissing(msg)
        coming = self._root / _COMING
        coming.mkdir(parents=True, exist_ok=True)
        now = self._clock.wall()
        for path in coming.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removes it too
                if now - path.stat().st_mtime > _FORGOTTEN_SECONDS:
                    path.unlink()

    async def close(self) -> None:
        """Close the store. No file stays open between calls."""

    async def examine(self, queues: Sequence[str]) -> list[Examination]:  # noqa: ARG002 - of the port
        """Examine the disk that the folder is on."""
        disk = await self._in_thread("examining the disk", lambda: shutil.disk_usage(self._root))
        findings = tuple(find_low_room(self.place, free=disk.free, total=disk.total))
        seen = room(disk.free, disk.total)
        return [Examination(id="bodies_space", area=Area.STORE, title="room for bodies", seen=seen, findings=findings)]

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Store the bodies."""
        await self._in_thread("leaving a body", lambda: self._write_all(batch))

    def _write_all(self, batch: Sequence[tuple[str, bytes]]) -> None:
        for name, body in batch:
            self._write(self._path(name), body)

    def _write(self, path: Path, body: bytes) -> None:
        coming = self._root / _COMING / os.urandom(16).hex()
        try:
            with coming.open("xb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            made = not path.parent.is_dir()
            path.parent.mkdir(parents=True, exist_ok=True)
            coming.replace(path)
        except BaseException:
            coming.unlink(missing_ok=True)
            raise
        _flush(path.parent)
        if made:
            for above in path.parent.relative_to(self._root).parents:
                _flush(self._root / above)

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """The bodies with these names."""
        return await self._in_thread("fetching a body", lambda: [_read(self._path(name)) for name in names])

    async def discard(self, names: Sequence[str]) -> None:
        """Keep these no longer. Folders stay: another process may be about to write there."""
        await self._in_thread("discarding bodies", lambda: self._remove_all(names))

    def _remove_all(self, names: Sequence[str]) -> None:
        for name in names:
            self._path(name).unlink(missing_ok=True)

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """The stored bodies, in the order of their names."""
        return await self._in_thread("looking", lambda: list(islice(self._walk(after), limit)))

    def _walk(self, after: str) -> Iterator[StoredBlob]:
        now = self._clock.wall()
        names = (str(path.relative_to(self._root)) for path in self._root.rglob("*") if path.is_file())
        for name in sorted(name for name in names if name > after and not name.startswith(_COMING)):
            with contextlib.suppress(FileNotFoundError):  # it was discarded since
                seen = (self._root / name).stat()
                yield StoredBlob(name, seen.st_size, max(0.0, now - seen.st_mtime))

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if any(not part or part.startswith(".") for part in parts):
            msg = f"{name!r} is not a valid name for a body at {self.place}; nothing was done"
            raise BrokerError(msg)
        return self._root.joinpath(*parts)

    async def _in_thread(self, what: str, act: Callable[[], T]) -> T:
        self._busy += 1
        try:
            return await asyncio.to_thread(act)
        except (PermissionError, NotADirectoryError, IsADirectoryError) as error:
            msg = f"{self.place}: {what} is not allowed ({error}); nothing was done. Check who owns the folder"
            raise StoreUnwritable(msg) from error
        except OSError as error:  # full, a share that is away: it may pass
            msg = f"{self.place}: {what} failed ({error}); Tenure tries again. Check the disk or the share"
            raise BrokerUnavailable(msg) from error
        finally:
            self._busy -= 1


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _flush(folder: Path) -> None:
    """The name itself is on the disk only when its folder is."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
