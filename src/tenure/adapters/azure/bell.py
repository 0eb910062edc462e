"""A bell: tasks of one process, on whatever loop, wait until another one has done something.

Used by `journal.py`: who follows the events of this process need not wait for the next look.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Bell:
    """Any thread may ring it."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set when somebody rings."""
        rung = asyncio.Event()
        listener = (asyncio.get_running_loop(), rung)
        with self._lock:
            self._listeners.add(listener)
        try:
            yield rung
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def ring(self) -> None:
        """Wake everybody who listens."""
        if not self._listeners:
            return
        with self._lock:
            listeners = list(self._listeners)
        for loop, rung in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(rung.set)
