"""Rows that somebody has edited by hand: they harm no other message, can be seen, and come out of it."""

import asyncio
from typing import Any

import pytest

from tenure.broker import SweepRequest
from tenure.message import MessageState
from tenure.query import Query
from tenure.settlement import Ack, Nack, Outcome
from tenure.verdict import Reason

from .place import QUEUE, Place

BOOM = Reason("error", "it broke")
COUNTERS = ("deliveries", "attempts", "crashes", "lost")
ABSURD: tuple[Any, ...] = ("zz", b"\xff", float("inf"), -1e308, 2**62, -5)
SWEEP = SweepRequest(interval_seconds=1000.0)


async def _every_look(place: Place, *ids: str) -> None:
    for state in MessageState:
        for backwards in (False, True):
            await place.broker.browse(Query(states=(state,), backwards=backwards))
    await place.broker.leases()
    await place.broker.queues()
    await place.broker.depth()
    await place.broker.held("w/1")
    for id in ids:
        assert await place.state.records.get(id) is not None


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("column", [*COUNTERS, "lease_seconds", "max_attempts", "sent_at", "reason", "finished_at"])
async def test_an_edited_row_stops_nothing(place: Place, column: str, value: Any) -> None:
    await place.broker.sweep(SWEEP)
    await place.send("a", "b")
    leases = await place.lease(2)
    await place.broker.nack([Nack(lease, 0.0, BOOM) for lease in leases])
    place.sql(f"UPDATE message SET {column} = ? WHERE id = 'a'", value)  # noqa: S608 - a column of ours
    await _every_look(place, "a", "b")
    leases = await place.lease(2)
    assert sorted(lease.id for lease in leases) == ["a", "b"]
    assert all(0 < lease.seconds <= place.broker.traits.max_lease_seconds for lease in leases)
    await place.broker.sweep(SWEEP)
    await asyncio.sleep(40.0)
    await place.broker.sweep(SWEEP)
    await _every_look(place, "a", "b")


@pytest.mark.parametrize("moment", ["zz", b"\xff", float("inf"), 2**62, None])
async def test_a_lease_that_would_never_end_gets_a_deadline(place: Place, moment: Any) -> None:
    await place.broker.sweep(SWEEP)
    await place.send("a", "b")
    leases = await place.lease(2)
    place.sql("UPDATE message SET moment = ? WHERE id = 'a'", moment)
    await _every_look(place, "a", "b")
    assert (await place.broker.sweep(SWEEP)).adopted == ("a",)
    settled = await place.broker.ack([Ack(lease) for lease in leases])
    assert [one.outcome for one in settled] == [Outcome.DELETED] * 2


@pytest.mark.parametrize("moment", ["zz", b"\xff", float("inf"), 2**62, None])
async def test_a_message_that_would_never_be_due_is_due(place: Place, moment: Any) -> None:
    await place.broker.sweep(SWEEP)
    await place.send("a", "b", delay=60.0)
    place.sql("UPDATE message SET moment = ? WHERE id = 'a'", moment)
    await _every_look(place, "a", "b")
    await place.broker.wait((QUEUE,), 0.0)
    await place.broker.sweep(SWEEP)
    assert [lease.id for lease in await place.lease(2)] == ["a"]
