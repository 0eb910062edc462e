"""Wakes callers that wait for messages or events, in this process and in others.

Each event loop that waits has a named pipe in the folder `<database>-workers`. A process that commits a message writes
to every pipe there, one byte for each queue, so that an idle worker sleeps in the kernel and wakes within a
millisecond. A lost byte costs at most a second: every waiter looks again by then (`SqliteStore.wait`). The pipes of
readers that wait for events of the journal are in a folder of their own: events are many, and must not wake idle
workers.

Where the file system knows no named pipes, `listen` says so, and waiting falls back to looking often.
"""

import asyncio
import contextlib
import errno
import os
import threading
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from tenure.adapters.sqlite.job import call_in
from tenure.rules.queue_pattern import has_pattern

#: In the set of what a transaction stirred up, among the names of queues: events were appended.
JOURNAL = "\0journal"

_SUFFIX = ".wake"
#: A worker that serves queues by a pattern is woken for every queue.
_ALL_MARKS = bytes(range(256))


class Wakes:
    """Waiters of this process and of others, as the writer wakes them."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made when it is first needed."""
        self.messages = Wake(folder)
        # Most often no reader waits for events. Then this folder does not exist, and waking costs next to nothing.
        self.events = Wake(folder / "events")

    def rouse(self, stirred: set[str]) -> None:
        """Wake those in this process who wait for any of it. Called after the commit, by the writer."""
        for wake, names in self._apart(stirred):
            wake.rouse(names)

    def tell_others(self, stirred: set[str]) -> None:
        """Wake those in other processes who wait for any of it. Called after `rouse`."""
        for wake, names in self._apart(stirred):
            wake.tell_others(names)

    def close(self) -> None:
        """Remove the pipes."""
        self.messages.close()
        self.events.close()

    def abandon(self) -> None:
        """Close this process' ends of the pipes, in a forked child."""
        self.messages.abandon()
        self.events.abandon()

    def _apart(self, stirred: set[str]) -> "list[tuple[Wake, set[str]]]":
        if JOURNAL not in stirred:
            return [(self.messages, stirred)]
        queues = stirred - {JOURNAL}
        return [(self.messages, queues), (self.events, {JOURNAL})] if queues else [(self.events, stirred)]


class Wake:
    """The waiters of one kind in this process, its pipes, and those of the others."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made when it is first needed."""
        self._folder = folder
        self._lock = threading.Lock()
        self._waiters: dict[asyncio.AbstractEventLoop, dict[asyncio.Future[None], bytes]] = {}
        self._pipes: dict[asyncio.AbstractEventLoop, tuple[str, int]] = {}
        #: Loops for which no pipe could be made.
        self._without_pipe: set[asyncio.AbstractEventLoop] = set()
        self._outside: dict[str, int] = {}

    def listen(self) -> bool:
        """Let others wake the running loop. False: that cannot be had here."""
        loop = asyncio.get_running_loop()
        if loop in self._pipes:
            return True
        if loop in self._without_pipe:
            return False
        try:
            name, descriptor = self._make_pipe()
            loop.add_reader(descriptor, self._hear, loop, descriptor)
        except (OSError, NotImplementedError):
            self._without_pipe.add(loop)
            return False
        with self._lock:
            self._pipes[loop] = (name, descriptor)
        return True

    def _make_pipe(self) -> tuple[str, int]:
        """Visible under its name only once it is open: a pipe without a reader counts as one of a dead process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name = os.urandom(8).hex()
        draft, final = self._folder / f"{name}.tmp", self._folder / f"{name}{_SUFFIX}"
        os.mkfifo(draft, 0o622)
        # For reading and writing, so that it stays open when a writer goes.
        descriptor = os.open(draft, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        draft.rename(final)
        return final.name, descriptor

    def enter(self, queues: Iterable[str]) -> "asyncio.Future[None]":
        """Begin to wait in the running loop. Look for messages *after* this, so that none slips through."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        with self._lock:
            self._waiters.setdefault(loop, {})[waiter] = _wanted_marks(tuple(queues))
        return waiter

    def leave(self, waiter: "asyncio.Future[None]") -> None:
        """Wait no longer."""
        waiter.cancel()
        with self._lock:
            self._waiters.get(waiter.get_loop(), {}).pop(waiter, None)

    def rouse(self, queues: Iterable[str]) -> None:
        """Wake everybody in this process who waits for one of `queues`. Called after the commit, by the writer."""
        with self._lock:
            loops = [loop for loop, waiters in self._waiters.items() if waiters]
        if not loops:
            return
        marks = _marks(queues)
        for loop in loops:
            if not call_in(loop, self._rouse, loop, marks):
                with self._lock:
                    self._waiters.pop(loop, None)

    def tell_others(self, queues: Iterable[str]) -> None:
        """Wake everybody in other processes who waits for one of `queues`. Called after `rouse`."""
        try:
            names = {name for name in os.listdir(self._folder) if name.endswith(_SUFFIX)}  # noqa: PTH208 - hot
        except OSError:
            return  # no folder, or no descriptor left: waiters look again within a second anyway
        with self._lock:
            names.difference_update(name for name, _ in self._pipes.values())
        for name in self._outside.keys() - names:
            os.close(self._outside.pop(name))
        marks = _marks(queues)
        for name in names:
            self._write(name, marks)

    def close(self) -> None:
        """Remove the pipes."""
        with self._lock:
            pipes, self._pipes = self._pipes, {}
            outside, self._outside = self._outside, {}
        for loop, (name, descriptor) in pipes.items():
            with contextlib.suppress(FileNotFoundError):
                (self._folder / name).unlink()
            if not call_in(loop, _unhook, loop, descriptor):
                os.close(descriptor)
        for descriptor in outside.values():
            os.close(descriptor)

    def abandon(self) -> None:
        """Close our ends in a forked child, so that we do not keep the pipes of a dead parent alive."""
        self._lock = threading.Lock()
        self._waiters.clear()
        for loop, (_, descriptor) in self._pipes.items():
            os.close(descriptor)
            # In this order: the kernel's list of what a loop listens to is the parent's too, and this must not
            # find the pipe there any more. Our copy of the loop forgets it, as the number will be another file's.
            with contextlib.suppress(RuntimeError):
                loop.remove_reader(descriptor)
        for descriptor in self._outside.values():
            os.close(descriptor)
        self._pipes, self._outside = {}, {}

    def _rouse(self, loop: asyncio.AbstractEventLoop, marks: bytes) -> None:
        """Runs in `loop`."""
        with self._lock:
            waiters = list(self._waiters.get(loop, {}).items())
        for waiter, wanted in waiters:
            if not waiter.done() and any(mark in wanted for mark in marks):
                waiter.set_result(None)

    def _hear(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        """Another process wrote to the pipe of `loop`. Runs in `loop`."""
        with contextlib.suppress(BlockingIOError):
            self._rouse(loop, bytes(set(os.read(descriptor, 65536))))

    def _write(self, name: str, marks: bytes) -> None:
        try:
            descriptor = self._outside.get(name)
            if descriptor is None:
                descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self._outside[name] = descriptor
            os.write(descriptor, marks)
        except BlockingIOError:
            return  # It is full of bytes already: it will wake.
        except OSError as error:
            # It has no reader: its process is dead.
            if name in self._outside:
                os.close(self._outside.pop(name))
            if error.errno in (errno.ENXIO, errno.EPIPE):
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()


def _unhook(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    """Stop watching a descriptor, then close it. Only the loop itself may do so."""
    loop.remove_reader(descriptor)
    os.close(descriptor)


@lru_cache(maxsize=64)
def _wanted_marks(queues: tuple[str, ...]) -> bytes:
    """Return the marks to wait for, cached: a worker waits for the same queues again and again."""
    return _ALL_MARKS if has_pattern(queues) else _marks(queues)


def _marks(queues: Iterable[str]) -> bytes:
    """Hash each queue to one byte. If two queues share one, a worker looks once in vain."""
    return bytes({zlib.crc32(queue.encode()) & 0xFF for queue in queues})
