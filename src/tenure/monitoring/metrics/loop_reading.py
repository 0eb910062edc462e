"""Reads samples on a worker's loop, from another thread; what does not answer in time says what it counted last."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from tenure.monitoring.metrics.merge import growing
from tenure.monitoring.metrics.sample import Sample

#: A worker's loop has so long to answer.
ANSWER_SECONDS = 1.0


class LoopReading:
    """The samples of one worker."""

    def __init__(self, loop: asyncio.AbstractEventLoop, read: Callable[[], list[Sample]]) -> None:
        """`read` is called on `loop`, which runs in this thread."""
        self._loop = loop
        self._read = read
        self._thread = threading.get_ident()
        #: What only grows, as of the last time.
        self._last: list[Sample] = []

    def read(self) -> list[Sample]:
        """Ask, and wait for the answer."""
        if threading.get_ident() == self._thread:  # no other thread could answer
            return self._read()
        asked = self.ask()
        try:
            return self.answered(asked.result(ANSWER_SECONDS))
        except TimeoutError:
            asked.cancel()
            return self.unanswered()

    async def read_async(self) -> list[Sample]:
        """Likewise, on the loop of another thread."""
        asked = self.ask()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return self.answered(await asyncio.wrap_future(asked))
        except TimeoutError:
            return self.unanswered()

    def ask(self) -> "Future[list[Sample]]":
        """Ask for the samples."""
        asked: Future[list[Sample]] = Future()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._answer, asked)
        return asked

    def answered(self, samples: list[Sample]) -> list[Sample]:
        """Keep what only grows."""
        self._last = growing(samples)
        return samples

    def unanswered(self) -> list[Sample]:
        """What is known while a handler blocks the loop."""
        return [*self._last, Sample("tenure_worker_responds", (), 0)]

    def _answer(self, asked: "Future[list[Sample]]") -> None:
        """On the worker's loop, perhaps long after the last waiter left."""
        if not asked.set_running_or_notify_cancel():
            return
        try:
            asked.set_result(self._read())
        except Exception as error:  # noqa: BLE001 - raised where it was asked
            asked.set_exception(error)
