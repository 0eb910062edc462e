"""One process under measurement.

    python -m benchmarks.webhooks_part.worker drain COUNT ARM | fill COUNT ENDPOINT | deliver | work

- `drain`: a worker empties a backlog. In the arm `alone` there is no announcer beside it; in `none` there is one, and
  no message asks for it; in `kept` each message asks, and there is none; in `all` each message asks, and the announcer
  only forgets. Prints one line of JSON.
- `fill`: sends messages that ask for a webhook, and lets them end without announcing it.
- `deliver`: only announces and delivers, until it is terminated. `work`: runs handlers as well.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from benchmarks.worker_main import own_cpu
from tenure import Tenure
from tenure.announcement import Announcement
from tenure.message import Message, Outgoing, new_id
from tenure.runtime.worker import Worker
from tenure.webhooks.announcer import Announcer
from tenure.webhooks.assembly import Webhooks
from tenure.webhooks.target_kind import NOTHING, Made

CONCURRENCY = 100
_BATCH = 1_000
_FORGET = "forget"


class Forget:
    """A kind of target that wants nothing, so that announcing alone is measured."""

    async def begin(self, _endings: Sequence[tuple[Announcement, str]]) -> None:
        """Nothing is done for many at once."""

    async def lane(self, _ending: Announcement, _target: str) -> None:
        """None: it waits for nothing."""

    async def room(self, _lane: str) -> int:
        """As much as there is."""
        return _BATCH

    async def make(self, _ending: Announcement, _target: str) -> Made:
        """Nothing."""
        return NOTHING

    async def reserve(self, _lane: str, _ids: Sequence[str]) -> None:
        """Nothing is sent."""

    async def is_reserved(self, _lane: str, _id: str) -> bool:
        """Nothing is sent."""
        return False


def _forgetting() -> None:
    """Have every announcer know that kind."""
    usual = Webhooks.announcer

    def announcer(self: Webhooks, send: Any, _kinds: Any = None) -> Announcer:
        return usual(self, send, {_FORGET: Forget()})

    Webhooks.announcer = announcer  # type: ignore[method-assign, assignment]


def _app() -> Tenure:
    app = Tenure(os.environ["TENURE_BENCH_URL"])

    @app.task
    async def noop(n: int) -> int:
        return n

    return app


def _worker(app: Tenure, *, announces: bool) -> Worker:
    worker = app.worker(concurrency=CONCURRENCY)
    if not announces:
        worker._beside = ()  # noqa: SLF001 - there is no option: a worker that never announces is of no use
    return worker


async def _send(app: Tenure, count: int, announce: tuple[str, ...]) -> None:
    body = msgspec.Raw(b'{"n":1}')
    for first in range(0, count, _BATCH):
        wall = time.time()
        await app.send([
            Outgoing(Message(
                id=new_id(wall), queue=app.queue, task="noop", body=body, sent_at=wall, announce=announce,
            ))
            for _ in range(min(_BATCH, count - first))
        ])  # fmt: skip


async def _completed(worker: Worker, count: int) -> None:
    while worker.counts.get("completed", 0) < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.005)


async def _drain(app: Tenure, count: int, arm: str) -> dict[str, float]:
    _forgetting()
    await _send(app, count, (f"{_FORGET}:all",) if arm in {"kept", "all"} else ())
    worker = _worker(app, announces=arm in {"none", "all"})
    await worker.start()
    cpu, began, before = own_cpu(), time.perf_counter(), worker.counts.get("completed", 0)
    await _completed(worker, count)
    seconds, left = time.perf_counter() - began, count - before
    while arm == "all" and await app.broker.announcements("", 1):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.005)
    forgotten = time.perf_counter() - began
    answer = {"rate": left / seconds, "forgotten_rate": left / forgotten, "cpu_us": (own_cpu() - cpu) / left * 1e6}
    worker.ask_to_stop()
    await worker.stop()
    return answer


async def _fill(app: Tenure, count: int, endpoint: str) -> None:
    await _send(app, count, (f"webhook:{endpoint}",))
    worker = _worker(app, announces=False)
    await worker.start()
    await _completed(worker, count)
    worker.ask_to_stop()
    await worker.stop()


async def _main(what: str, *words: str) -> None:
    async with (app := _app()):
        match what:
            case "drain":
                answer = await _drain(app, int(words[0]), words[1])
                print(json.dumps(answer), flush=True)
            case "fill":
                await _fill(app, int(words[0]), words[1])
            case "deliver":
                await app.deliveries().start()
                print("ready", flush=True)
                await asyncio.Event().wait()
            case _:
                async with app.worker(concurrency=CONCURRENCY):
                    print("ready", flush=True)
                    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
