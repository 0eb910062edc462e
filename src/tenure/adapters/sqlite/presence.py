"""Presence: a lock file for each boot of a worker, which the kernel frees when the worker dies.

`kill -9` frees it at once; SIGSTOP keeps it. The file appears under its name only after it is locked, so a
visible file that can be locked by somebody else belongs to a dead worker. Children that are forked or started
do not keep the lock alive.

The files lie in the folder `<database>-workers`. Used by `roster.py`.
"""

import contextlib
import fcntl
import hashlib
import os
import threading
import weakref
from pathlib import Path
from urllib.parse import quote

from tenure.adapters.sqlite import faults

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
            if owner in self._held:
                return
            final = self._file(owner)
            draft = final.with_suffix(f".{os.urandom(4).hex()}.tmp")
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
                self._held[owner] = descriptor
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rename(draft, final)  # noqa: PTH104 - the only step that makes it visible
            except OSError as error:
                self._forget(owner)
                raise faults.unwritable(str(final), str(error)) from error

    def drop(self, owner: str) -> None:
        """Be present as `owner` no longer. Also removes what a dead owner left behind."""
        with contextlib.suppress(FileNotFoundError):
            self._file(owner).unlink()
        with _FORKING:
            self._forget(owner)

    def is_held(self, owner: str) -> bool:
        """Whether a living process, also this one, is present as `owner`."""
        try:
            descriptor = os.open(self._file(owner), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # no descriptor left, perhaps: not to know is no proof of death
        try:
            # Shared, so that two processes that test at the same time do not take each other for the owner.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True  # held by its owner; or not to be known, which proves nothing
        finally:
            os.close(descriptor)
        return False

    def close(self) -> None:
        """Let go of every lock. Whoever did not say goodbye counts as dead from now on."""
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


_ALL: "weakref.WeakSet[Presence]" = weakref.WeakSet()
#: Held while a lock file is being made, so that no child is forked with a lock it does not know of.
_FORKING = threading.RLock()


def _close_in_child() -> None:
    # A child shares its parent's locks until it closes them: else it would keep a dead parent alive.
    global _FORKING  # noqa: PLW0603 - whoever held it is not here to let it go
    _FORKING = threading.RLock()
    for presence in list(_ALL):
        presence.close()


def _acquire() -> None:
    _FORKING.acquire()


def _release() -> None:
    _FORKING.release()


os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_close_in_child)
