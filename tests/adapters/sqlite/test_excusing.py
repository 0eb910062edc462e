"""A lease that ended while the file could not be written is excused once between two touches."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator

from tenure.adapters.sqlite.returning import sweep
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.broker import SweepRequest, Swept
from tenure.testing.virtual import VirtualClock

from .place import Place

REQUEST = SweepRequest(interval_seconds=3600.0, lease_seconds=30.0)


def swept(place: Place, *stalls: tuple[float, float]) -> Swept:
    """One sweep that knows of stalls which began and ended so many seconds ago."""
    now = place.store.timeline.now()
    spans = tuple((now - micros(since), now - micros(until)) for since, until in stalls)
    with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as db:
        return sweep(WriteTransaction(db, now, place.clock.wall(), spans), REQUEST)


def wait(place: Place, seconds: float) -> None:
    """Time passes."""
    assert isinstance(place.clock, VirtualClock)
    place.clock.now += seconds


@contextlib.asynccontextmanager
async def lending(place: Place) -> AsyncIterator[None]:
    """A message is lent for thirty seconds, in a store that is swept."""
    async with place:
        await place.send("a")
        swept(place)
        await place.lease()
        yield


async def test_what_ended_in_a_stall_gets_a_fresh_window(place: Place) -> None:
    async with lending(place):
        wait(place, 31.0)
        assert swept(place, (20.0, 0.0)).moved == 0
        wait(place, 29.0)
        assert swept(place).moved == 0
        wait(place, 2.0)
        assert swept(place).returned == ("a",)


async def test_stall_after_stall_excuses_it_once(place: Place) -> None:
    async with lending(place):
        wait(place, 31.0)
        assert swept(place, (20.0, 0.0)).moved == 0
        wait(place, 31.0)
        assert swept(place, (20.0, 0.0)).returned == ("a",)


async def test_a_touch_in_between_earns_another_window(place: Place) -> None:
    async with lending(place):
        wait(place, 31.0)
        swept(place, (20.0, 0.0))
        (lease,) = await place.broker.held("w/1")
        await place.broker.touch([lease])
        wait(place, 31.0)
        assert swept(place, (20.0, 0.0)).moved == 0


async def test_a_stall_of_less_than_a_third_of_the_lease_is_no_excuse(place: Place) -> None:
    async with lending(place):
        wait(place, 31.0)
        assert swept(place, (9.0, 0.0)).returned == ("a",)


async def test_a_stall_of_a_third_of_the_lease_is_one(place: Place) -> None:
    async with lending(place):
        wait(place, 31.0)
        assert swept(place, (10.0, 0.0)).moved == 0


async def test_a_stall_never_makes_a_deadline_shorter(place: Place) -> None:
    async with lending(place):
        (lease,) = await place.broker.held("w/1")
        wait(place, 20.0)
        assert swept(place, (20.0, -3600.0)).moved == 0  # it lasts, as far as anybody knows
        (after,) = await place.broker.held("w/1")
        assert after.deadline >= lease.deadline


async def test_a_process_that_stands_still_with_the_lock_robs_no_lease(place: Place) -> None:
    """A handler keeps the GIL: the writer has the lock, and does not come back to know it."""
    async with lending(place):
        wait(place, 15.0)
        stands_still = [True]

        def begin(statement: str) -> None:
            if statement == "BEGIN IMMEDIATE" and stands_still.pop():
                stands_still.append(False)
                wait(place, 20.0)

        place.store._writer._db.set_trace_callback(begin)
        await place.send("b")
        assert stands_still == [False]
        assert (await place.broker.sweep(REQUEST)).moved == 0
