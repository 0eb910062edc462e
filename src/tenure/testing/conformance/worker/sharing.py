"""Sharing: a worker that serves several clients gives each its part of its time, whatever the others send.

One client sends messages that take twenty times as long as those of the other. Leased in turn, one by one, they would
take nearly all of the time.
"""

import asyncio
from typing import Any

from tenure.testing.harness import Harness
from tenure.testing.workers import Stage

NOISY, QUIET = "noisy-tasks", "quiet-tasks"
#: Seconds that a message of each takes.
TAKES = {NOISY: 2.0, QUIET: 0.1}
_MANY = 12


class Sharing:
    """Each client gets its part of the time."""

    async def test_slow_messages_of_one_client_do_not_hold_up_another(self, harness: Harness) -> None:
        await _share(harness, concurrency=1, queues=("*-tasks",))

    async def test_nor_do_they_over_several_workers_that_serve_them_by_name(self, harness: Harness) -> None:
        await _share(harness, concurrency=2, queues=(NOISY, QUIET), workers=2)

    async def test_what_is_held_back_runs_when_nothing_else_waits(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work, ended = _task(stage)
            for queue, count in ((NOISY, 8), (QUIET, 3)):
                await asyncio.gather(*[stage.submit(work.bind(queue), queue=queue) for _ in range(count)])
            await stage.start(concurrency=2, queues=("*-tasks",), learning=False)
            await stage.until(lambda: len(ended) == 11)


async def _share(harness: Harness, *, concurrency: int, queues: tuple[str, ...], workers: int = 1) -> None:
    async with Stage(harness) as stage:
        work, ended = _task(stage)
        for queue in TAKES:
            await asyncio.gather(*[stage.submit(work.bind(queue), queue=queue) for _ in range(_MANY)])
        for _ in range(workers):
            await stage.start(concurrency=concurrency, queues=queues, learning=False)
        await stage.until(lambda: ended.count(QUIET) == _MANY)
        slow = ended.count(NOISY)
        # Before it is known how long they take, each worker may fill its slots with slow ones, twice over.
        fair = 2 * _MANY * TAKES[QUIET] / TAKES[NOISY] + 2 * workers * concurrency
        assert slow <= fair, f"{slow} slow messages ran before {_MANY} quick ones of another client were done"


def _task(stage: Stage) -> tuple[Any, list[str]]:
    """A task, and the queues of its messages in the order in which they ended."""
    ended: list[str] = []

    @stage.task
    async def work(sender: str) -> None:
        await asyncio.sleep(TAKES[sender])
        ended.append(sender)

    return work, ended
