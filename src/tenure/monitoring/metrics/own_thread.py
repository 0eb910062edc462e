"""Serves the metrics of a worker on a thread of its own, so that a scrape is answered while a handler blocks the loop.

Samples are made on the worker's loop. Where that does not answer in time, the scrape gets what only grows as of the
last time, and `tenure_worker_responds 0`.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.errors import ConfigurationError
from tenure.monitoring.metrics.address import MetricsAddress
from tenure.monitoring.metrics.endpoint import MetricsEndpoint
from tenure.monitoring.metrics.loop_reading import LoopReading
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample

_START_SECONDS = 10.0


class MetricsThread:
    """The endpoint of one worker."""

    def __init__(
        self, address: MetricsAddress, read: Callable[[], list[Sample]], clock: Clock, *, token: str | None
    ) -> None:
        """`read` is called on the loop that starts this."""
        self._read = read
        self._clock = clock
        self._endpoint = MetricsEndpoint(address, self._collect, token=token)
        self._recent = Recent()
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """Where it is found."""
        return self._url

    async def start(self) -> None:
        """Listen. Raises `ConfigurationError` if that is not possible."""
        self._source = LoopReading(asyncio.get_running_loop(), self._read)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tenure-metrics", daemon=True)
        self._thread.start()
        if not await asyncio.to_thread(self._started.wait, _START_SECONDS):
            msg = "the thread that serves metrics did not start"
            raise ConfigurationError(msg)
        if self._failure is not None:
            raise self._failure

    async def stop(self) -> None:
        """Stop listening."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(thread.join)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._endpoint.start())
            self._url = self._endpoint.url
        except ConfigurationError as error:
            self._failure = error
        finally:
            self._started.set()
        if self._failure is None:
            loop.run_forever()
            loop.run_until_complete(self._endpoint.stop())
        loop.run_until_complete(_end_tasks(loop))
        loop.close()

    async def _collect(self) -> Sequence[Sample]:
        samples = await self._source.read_async()
        return [*samples, *self._recent.samples(samples, self._clock.monotonic())]


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """End the connections that are open still."""
    rest = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
