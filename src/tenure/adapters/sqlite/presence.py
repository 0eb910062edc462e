"""Presence: a lock file for each boot of a worker, which the kernel frees when the worker dies.

`kill -9` frees it at once; SIGSTOP keeps it. The file appears under its name only after it is locked, so a visible
file that another process can lock belongs to a dead worker. Children that are forked or started do not keep the lock
alive. A missing file proves nothing: it may have been removed under a live worker, which makes it again (`keep`).

The files are in the folder `<database>-workers`. Used by `roster.py`.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import threading
import weakref
from pathlib import Path
from urllib.parse import quote

from tenure.adapters.sqlite import faults

logger = logging.getLogger("tenure.sqlite")

#: Longer file names are refused by most file systems.
_LONGEST_NAME = 200


class Presence:
    """The lock files that this process holds, and a way to test those of others."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made when it is first needed."""
        self._folder = folder
        self._held: dict[str, int] = {}
        _ALL.add(self)

    def take(self, owner: str) -> None:
        """Be present as `owner` until `drop`, or until this process ends."""
        with _FORKING:
            if owner not in self._held:
                self._held[owner] = self._make(self._file(owner))

    def keep(self, owner: str) -> None:
        """Make the file again if it was removed, or is another one, though this process is present as `owner`."""
        with _FORKING:
            before = self._held.get(owner)
            file = self._file(owner)
            if before is None or _is_at(before, file):
                return
            # The new one first: at no moment is there a file under this name that can be locked.
            self._held[owner] = self._make(file)
            os.close(before)
        logger.warning("the lock file %s was removed while its worker lives; it was made again", file)

    def _make(self, final: Path) -> int:
        """A locked file under this name; its descriptor."""
        draft = final.with_suffix(f".{os.urandom(4).hex()}.tmp")
        descriptor = -1
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(draft, final)  # noqa: PTH104 - the only step that makes it visible
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise faults.unwritable(str(final), str(error)) from error
        return descriptor

    def drop(self, owner: str) -> None:
        """Be present as `owner` no longer. Also removes what a dead owner left behind."""
        with contextlib.suppress(FileNotFoundError):
            self._file(owner).unlink()
        with _FORKING:
            self._forget(owner)

    def look(self, owner: str) -> bool | None:
        """True: a living process, perhaps this one, is present as `owner`. False: the lock is free. None: unknown."""
        file = self._file(owner)
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None  # not there, or no descriptor left: not to know is no proof of death
        try:
            # Shared, so that two processes that test at the same time do not take each other for the owner.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            # If it was removed since we opened it, its owner may have made another one and let go of this.
            return False if _is_at(descriptor, file) else None
        except BlockingIOError:
            return True
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Release every lock. A worker that did not say goodbye counts as dead from now on."""
        with _FORKING:
            for owner in list(self._held):
                self._forget(owner)

    def _forget(self, owner: str) -> None:
        descriptor = self._held.pop(owner, None)
        if descriptor is not None:
            os.close(descriptor)

    def _file(self, owner: str) -> Path:
        name = quote(owner, safe="")
        if len(name) > _LONGEST_NAME:
            name = hashlib.sha256(owner.encode()).hexdigest()
        return self._folder / f"{name}.lock"


def _is_at(descriptor: int, file: Path) -> bool:
    """Whether the open file is the one that is found under this name now."""
    try:
        there = file.stat()
    except OSError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


_ALL: "weakref.WeakSet[Presence]" = weakref.WeakSet()
#: Held while a lock file is being made, so that no child is forked with a lock it does not know of.
_FORKING = threading.RLock()


def _close_in_child() -> None:
    # A child shares its parent's locks until it closes them: else it would keep a dead parent alive.
    global _FORKING  # noqa: PLW0603 - its holder is not in this process
    _FORKING = threading.RLock()
    for presence in list(_ALL):
        presence.close()


def _acquire() -> None:
    _FORKING.acquire()


def _release() -> None:
    _FORKING.release()


os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_close_in_child)
