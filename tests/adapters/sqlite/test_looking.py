"""Looking: many queues are counted in one pass, and nobody who works waits for it."""

import asyncio
import threading
from typing import Any

import pytest

from tenure.adapters.sqlite import looking

from .place import QUEUE, Place


async def test_many_queues_take_no_more_statements_than_few(place: Place) -> None:
    """A statement for each queue and state took seconds for a thousand queues: each one read all leased rows."""

    async def statements(queues: list[str] | None) -> int:
        found: list[str] = []
        place.store._looker._db.set_trace_callback(found.append)
        await place.broker.depth(queues)
        place.store._looker._db.set_trace_callback(None)
        return len(found)

    await place.broker.depth()
    await place.send("a", queue="q0")
    await place.send("b", queue="q1")
    few, few_asked = await statements(None), await statements(["q0", "q1"])
    for number in range(100):
        await place.send(f"m{number}", f"n{number}", queue=f"q{number}")
        await place.lease(queues=(f"q{number}",))
    assert await statements(None) == few
    assert await statements([f"q{number}" for number in range(100)]) == few_asked


async def test_looking_at_everything_keeps_nobody_from_waiting(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting a million messages takes a while."""
    begun, over = threading.Event(), threading.Event()

    def slow(*_: object) -> list[Any]:
        begun.set()
        assert over.wait(30)
        return []

    monkeypatch.setattr(looking, "depth", slow)
    counting = asyncio.ensure_future(place.broker.depth())
    try:
        assert await asyncio.to_thread(begun.wait, 30)
        await place.broker.wait([QUEUE], 0.0)
        assert (await place.state.board.read()).paused == ()
        assert not counting.done()
    finally:
        over.set()
    assert await counting == []
