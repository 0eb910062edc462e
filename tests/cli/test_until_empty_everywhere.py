"""`--until-empty` waits for what was tried and comes again, on every store and whoever sent it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tenure import Call, Context, Tenure
from tenure.broker import Query
from tenure.cli.commands.worker.until_empty import until_empty
from tenure.foreign import Foreign
from tenure.message import MessageState

from .places import CLOUDS, PLACES, Place, place_for

QUEUE = "default-tasks"


def _marked(kinds: tuple[str, ...]) -> list[object]:
    return [pytest.param(kind, marks=pytest.mark.cloud if kind in CLOUDS else ()) for kind in kinds]


def _app(place: Place, attempts: list[int]) -> Tenure:
    app = Tenure(place.url)

    @app.task(retry_delay=1.5, max_attempts=3)
    async def flaky(ctx: Context, n: int) -> int:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise RuntimeError("not yet")
        return n

    @app.on_foreign
    def route(foreign: Foreign) -> Call[Any] | None:
        return foreign.call(flaky)

    return app


async def _drain(app: Tenure) -> None:
    worker = app.worker(concurrency=2)
    await worker.start()
    try:
        await until_empty(app, worker)
    finally:
        await worker.stop()


@pytest.mark.parametrize("kind", _marked(PLACES))
def test_a_retry_is_waited_for(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    app = _app(place_for(kind, tmp_path, monkeypatch), attempts)

    async def run() -> None:
        async with app:
            await app.submit(app.tasks["flaky"].bind(n=1))
            await _drain(app)

    asyncio.run(run())
    assert attempts == [1, 2]


@pytest.mark.parametrize("kind", _marked(CLOUDS))
def test_a_retry_of_what_others_sent_is_waited_for(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_for(kind, tmp_path, monkeypatch)
    place.send_as_others_do(QUEUE, {"n": 1})
    attempts: list[int] = []
    app = _app(place, attempts)

    async def run() -> None:
        async with app:
            await _drain(app)

    asyncio.run(run())
    assert attempts == [1, 2]


@pytest.mark.cloud
def test_what_a_newer_tenure_sent_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where what waits can be looked at: on SQS all that is delayed is waited for.
    place = place_for("azurite", tmp_path, monkeypatch)
    place.send_as_others_do(QUEUE, {"tenure": 99, "n": 1})
    attempts: list[int] = []
    app = _app(place, attempts)

    async def run() -> MessageState:
        async with app:
            async with asyncio.timeout(60.0):
                await _drain(app)
            (depth,) = await app.broker.depth([QUEUE])
            assert depth.dead == 0
            (one,) = (
                await app.broker.browse(Query(states=(MessageState.DELAYED,), queues=(QUEUE,), scan=True))
            ).messages
            return one.state

    assert asyncio.run(run()) is MessageState.DELAYED
    assert attempts == []
