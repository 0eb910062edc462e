"""The events of one message are found by marks, whoever wrote them; those who wait for events are woken."""

import asyncio

import pytest

from tenure.event import Event, EventKind

from .place import Place, ended, line_of, start


def _events(*ids: str) -> list[Event]:
    return [Event(EventKind.COMPLETED, 1.0, message_id=id) for id in ids]


async def _about(place: Place, id: str) -> list[int]:
    return [stored.seq for stored in await place.state.journal.about(id)]


async def test_small_appends_share_a_row_of_marks(place: Place) -> None:
    for number in range(1_000):
        await place.state.journal.append(_events(f"m{number}"))
    assert place.sql("SELECT count(*) <= 4, sum(length(marks)) FROM journal_ids") == [(1, 4_000)]
    assert await _about(place, "m0") == [1]
    assert await _about(place, "m500") == [501]
    assert await _about(place, "m999") == [1_000]
    assert await _about(place, "other") == []


async def test_events_that_an_older_version_wrote_are_found(place: Place) -> None:
    """Between those of this version, before and behind them."""
    for id in ("a", "b", "c", "d", "e"):
        await place.state.journal.append(_events(*[id] * 100))
    place.sql("DELETE FROM journal_ids WHERE first_seq IN (1, 201, 401)")
    for number, id in enumerate(("a", "b", "c", "d", "e")):
        assert await _about(place, id) == list(range(100 * number + 1, 100 * number + 101)), id


async def test_a_message_that_an_act_names_is_found(place: Place) -> None:
    await place.state.journal.append([Event(EventKind.REDRIVEN, 1.0, data={"ids": ["a", "b"]})])
    assert await _about(place, "b") == [1]


async def test_marks_go_with_their_events(place: Place) -> None:
    await place.state.journal.append(_events("a"))
    await asyncio.sleep(100.0)
    now = place.clock.wall()
    await place.state.journal.append([Event(EventKind.COMPLETED, now, message_id=f"b{n}") for n in range(100)])
    await place.state.journal.append([Event(EventKind.COMPLETED, now, message_id="c")])
    assert await place.state.journal.prune(50.0) == 1
    assert await place.state.journal.first() == 2
    assert (await _about(place, "a"), await _about(place, "b5"), await _about(place, "c")) == ([], [7], [102])


@pytest.mark.real_time
async def test_an_event_wakes_those_who_wait_in_another_process(real_place: Place) -> None:
    script = """
import asyncio, sys
from tenure.adapters.sqlite import connect
async def main():
    broker, state = connect(sys.argv[1])
    await state.open()
    waiting = asyncio.ensure_future(state.journal.wait(0, 60.0))
    await asyncio.sleep(0.3)
    print("waiting", flush=True)
    await waiting
    print("woken", await state.journal.last(), flush=True)
    await state.close()
asyncio.run(main())
"""
    async with real_place as place:
        with ended(start(script, place.path)) as other:
            assert await asyncio.to_thread(line_of, other) == "waiting"
            await place.state.journal.append(_events("a"))
            assert await asyncio.to_thread(line_of, other) == "woken 1"
