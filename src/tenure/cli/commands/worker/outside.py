"""What a worker process tells systems outside, and hears of them: `tenure worker --platform` and `--emf`."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tenure.clock import Clock

if TYPE_CHECKING:
    from tenure.monitoring.metrics.sample import Sample
    from tenure.platforms.choosing import Platforms
    from tenure.platforms.notices import Drainable
    from tenure.runtime.worker import Worker

logger = logging.getLogger("tenure.platform")


class Outside(NamedTuple):
    """The systems outside of one worker process."""

    platforms: "Platforms | None"
    #: Where metrics are written. None: nowhere.
    emf: str | None


def platforms_of(names: Sequence[str], *, of_supervisor: bool, has_supervisor: bool) -> "Platforms | None":
    """The platforms of one process. None: there are none.

    Of several worker processes, the supervisor tells what all of them hold, and each drains by itself.
    """
    if not names:
        return None
    from tenure.platforms.choosing import ANNOUNCING, PROTECTING, check_platforms, choose

    check_platforms(names)
    left_out = ANNOUNCING if of_supervisor else PROTECTING if has_supervisor else ()
    return choose([name for name in names if name not in left_out])


@contextlib.asynccontextmanager
async def watching(
    platforms: "Platforms | None", held: Callable[[], int], worker: "Drainable | None", clock: Clock
) -> AsyncIterator[None]:
    """Tell and listen within the block; at its end managers hear that nothing is held."""
    if platforms is None:
        yield
        return
    from tenure.platforms.guard import Guard
    from tenure.platforms.notices import NoticeWatch

    jobs = [asyncio.create_task(Guard(one, held, clock).run()) for one in platforms.protectors]
    if worker is not None and platforms.boards:
        jobs.append(asyncio.create_task(NoticeWatch(platforms.boards, worker, clock).run()))
    for job in jobs:
        job.add_done_callback(_log_failure)
    try:
        yield
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)


def _log_failure(job: asyncio.Task[None]) -> None:
    """The worker goes on without it, so its log must say that it is gone."""
    if not job.cancelled() and (error := job.exception()) is not None:
        logger.error("a manager of this machine is neither told nor heard any more; the worker goes on", exc_info=error)


def check_target(emf: str | None) -> None:
    """Raise `ConfigurationError` for a target of metrics that is none: before the worker leases a message."""
    if emf:
        from tenure.monitoring.cloudwatch.emf_target import emf_target

        emf_target(emf)


@contextlib.asynccontextmanager
async def exporting(emf: str | None, worker: "Worker") -> AsyncIterator[None]:
    """Write the metrics of a worker within the block."""

    async def collect() -> "Sequence[Sample]":
        return worker.metrics()

    async with exporting_from(emf, collect):
        yield


@contextlib.asynccontextmanager
async def exporting_from(emf: str | None, collect: "Callable[[], Awaitable[Sequence[Sample]]]") -> AsyncIterator[None]:
    """Write what `collect` returns within the block."""
    if not emf:
        yield
        return
    from tenure.monitoring.cloudwatch.emf_export import EmfExport

    async with EmfExport(emf, collect):
        yield
