"""What is kept, and for how long: the journal's pages, and what is long finished."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tenure.adapters.sqlite import journal as journal_module
from tenure.adapters.sqlite import retention
from tenure.broker import SweepRequest
from tenure.claim import ClaimRequest, Fresh, Scope, Seal
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.sample import Sample
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

from .place import QUEUE, Place

DAY = 86_400.0
BOOM = Reason("error", "it broke")


def _pass(place: Place, seconds: float) -> None:
    assert isinstance(place.clock, VirtualClock)
    place.clock.now += seconds


def events(place: Place, count: int, **fields: Any) -> list[Event]:
    return [Event(EventKind.COMPLETED, place.clock.wall(), seconds=float(n), **fields) for n in range(count)]


async def test_a_hundred_events_are_one_row(place: Place) -> None:
    await place.state.journal.append(events(place, 100))
    assert place.sql("SELECT last_seq, count FROM journal") == [(100, 100)]


async def test_any_stretch_of_the_journal_can_be_read(place: Place) -> None:
    journal = place.state.journal
    for size in (3, 1, 5, 2):
        await journal.append(events(place, size))
    for after in range(12):
        for limit in (1, 2, 4, 100):
            places = [stored.seq for stored in await journal.read(after, limit)]
            assert places == list(range(after + 1, 12))[:limit]
    assert await journal.last() == 11


async def test_places_go_on_rising_when_everything_was_pruned(place: Place) -> None:
    journal = place.state.journal
    await journal.append(events(place, 3))
    move(place.clock, 10.0)
    assert await journal.prune(5.0) == 3
    assert await journal.prune(5.0) == 0
    assert await journal.read() == []
    await journal.append(events(place, 1))
    assert [stored.seq for stored in await journal.read()] == [4]
    assert await journal.last() == 4


async def test_a_page_is_pruned_up_to_its_first_young_event(place: Place) -> None:
    journal = place.state.journal
    old, young = place.clock.wall() - 100.0, place.clock.wall()
    await journal.append([Event(EventKind.DEAD, at) for at in (old, old, young, old, young)])
    assert await journal.prune(50.0) == 2
    assert [stored.seq for stored in await journal.read()] == [3, 4, 5]
    assert await journal.prune(50.0) == 0


async def test_events_of_two_processes_have_one_order(place: Place) -> None:
    async with Place(place.path, place.clock) as other:
        for n in range(10):
            await (place, other)[n % 2].state.journal.append(events(place, 2, task=str(n)))
    read = await place.state.journal.read()
    assert [stored.seq for stored in read] == list(range(1, 21))
    assert [stored.event.task for stored in read] == [str(n) for n in range(10) for _ in range(2)]


async def test_only_pages_that_name_the_message_are_decoded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = place.state.journal
    for n in range(20):
        await journal.append(events(place, 5, message_id=f"m{n:02}"))
    await journal.append([Event(EventKind.REDRIVEN, place.clock.wall(), data={"ids": ["m07", "m08"]})])
    decoded: list[bytes] = []
    decode = journal_module._decode

    def noted(raw: bytes) -> list[Event]:
        decoded.append(raw)
        return decode(raw)

    monkeypatch.setattr(journal_module, "_decode", noted)
    assert [stored.seq for stored in await journal.about("m07")] == [36, 37, 38, 39, 40, 101]
    assert len(decoded) == 2
    assert [stored.seq for stored in await journal.about("m07", limit=2)] == [36, 37]
    assert len(decoded) == 3
    assert await journal.about("m7") == []
    assert len(decoded) == 3


async def test_pages_older_than_asked_for_are_not_looked_at(place: Place) -> None:
    journal = place.state.journal
    for _ in range(3):
        await journal.append(events(place, 2, message_id="a"))
        move(place.clock, 100.0)
    now = place.clock.wall()
    assert [stored.seq for stored in await journal.about("a", since=now - 101.0)] == [5, 6]
    assert [stored.seq for stored in await journal.about("a", since=now - 199.0)] == [5, 6]
    assert [stored.seq for stored in await journal.about("a", since=now - 202.0)] == [3, 4, 5, 6]


@pytest.mark.parametrize("id", ['say "a"', "Zoë/1", "back\\slash", "", "*", "%", "x\ny"])
async def test_an_id_of_any_letters_is_found(place: Place, id: str) -> None:
    journal = place.state.journal
    event = Event(EventKind.DEAD, place.clock.wall(), message_id=id)
    await journal.append([Event(EventKind.DEAD, 1.0, message_id="other"), event])
    await journal.append([Event(EventKind.REDRIVEN, 1.0, data={"ids": ["other", id]})])
    assert [stored.seq for stored in await journal.about(id)] == [2, 3]


async def sweep(place: Place) -> None:
    """Sweep, and wait until what it began is done."""
    await place.broker.sweep(SweepRequest())
    await asyncio.sleep(0.001)  # virtual time stands still until the writer has nothing left to do


def rows(place: Place) -> dict[str, int]:
    tables = ("message", "note", "outcome", "claim", "owner", "loan")
    return {table: place.sql(f"SELECT count(*) FROM {table}")[0][0] for table in tables}  # noqa: S608 - from constants


async def test_what_is_long_finished_is_forgotten_and_nothing_else(place: Place) -> None:
    await place.send("done", "failed-once", "dead", "cancelled", "ready")
    await place.send("keyed", key="k")
    leases = {lease.id: lease for lease in await place.lease(10)}
    await place.broker.nack([Nack(leases["failed-once"], 0.0, BOOM)])
    (again,) = await place.lease()
    await place.broker.ack([Ack(leases["done"], b"1"), Ack(again, b"2"), Ack(leases["keyed"], b"3")])
    await place.broker.dead_letter([DeadLetter(leases["dead"], BOOM)])
    await place.broker.retire("w/1", crashed=False)
    await place.broker.delete(["cancelled"])
    move(place.clock, 6 * DAY)
    await sweep(place)
    for id in ("done", "failed-once", "keyed", "cancelled", "dead", "ready"):
        assert await place.state.records.get(id) is not None
    assert (await place.send("keyed-again", key="k"))[0].id == "keyed"
    move(place.clock, 1.1 * DAY)
    await sweep(place)
    assert [await place.state.records.get(id) for id in ("done", "failed-once", "keyed", "cancelled")] == [None] * 4
    assert (await place.record("dead")).state is MessageState.DEAD
    assert (await place.record("ready")).state is MessageState.READY
    assert rows(place) == {"message": 2, "note": 1, "outcome": 0, "claim": 0, "owner": 0, "loan": 1}
    assert not (await place.send("keyed-again", key="k"))[0].duplicate


async def test_any_number_is_forgotten_with_one_sweep(place: Place) -> None:
    for start in range(0, 3000, 1000):
        await place.send(*(f"m{start + n}" for n in range(1000)))
        leases = await place.lease(1000)
        await place.broker.ack([Ack(lease, str(n).encode()) for n, lease in enumerate(leases)])
    await place.send("young")
    move(place.clock, 8 * DAY)
    await sweep(place)
    assert rows(place)["message"] == 1
    assert rows(place)["outcome"] == 0


async def test_pruning_stops_where_everything_is_young(place: Place) -> None:
    await place.send(*(f"m{n}" for n in range(1000)))
    looked: list[str] = []
    place.store._writer._db.set_trace_callback(looked.append)
    await sweep(place)
    assert sum("FROM message WHERE seq >" in statement for statement in looked) == 1


async def test_what_stays_does_not_keep_what_follows_from_being_forgotten(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", keep_seconds=60.0) as place:
        await place.send(*(f"stuck{n}" for n in range(2 * retention._PIECE)), queue="nobody")
        await place.send("done")
        await place.broker.ack([Ack(lease) for lease in await place.lease()])
        move(place.clock, 61.0)
        await sweep(place)
        assert await place.state.records.get("done") is None


async def test_a_sweep_does_not_look_through_everything_that_must_stay(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", keep_seconds=60.0) as place:
        for start in range(0, 6000, 1000):
            await place.send(*(f"stuck{start + n}" for n in range(1000)), queue="nobody")
        move(place.clock, 61.0)
        looked: list[str] = []
        place.store._writer._db.set_trace_callback(looked.append)
        await sweep(place)
        assert sum("FROM message WHERE seq >" in statement for statement in looked) == 20
        (cursor,) = place.sql("SELECT value FROM meta WHERE name = 'message_cursor'")
        assert cursor == (20 * retention._PIECE,)


async def test_a_key_is_kept_as_long_as_its_message(place: Place) -> None:
    await place.send("a", key="k")
    move(place.clock, 30 * DAY)
    await sweep(place)
    assert (await place.send("b", key="k"))[0].id == "a"


async def test_done_claims_of_another_broker_are_forgotten_in_time(place: Place) -> None:
    ledger = place.state.ledger
    scope = Scope("elsewhere", "t", "k")
    request = ClaimRequest(scope, "m", "w/1", 30.0, "digest")
    (answer,) = await ledger.claim([request])
    assert isinstance(answer, Fresh)
    await ledger.seal([Seal(answer.token, b"1")])
    move(place.clock, 8 * DAY)
    await sweep(place)
    (answer,) = await ledger.claim([request])
    assert isinstance(answer, Fresh)


async def test_fences_rise_although_loans_are_forgotten(place: Place) -> None:
    fences = []
    for n in range(5):
        await place.send(f"m{n}")
        (lease,) = await place.lease()
        fences.append(lease.fence)
        await place.broker.ack([Ack(lease)])
        await sweep(place)
        assert rows(place)["loan"] == 1
    assert fences == sorted(set(fences))


async def test_the_view_for_people_has_words(place: Place) -> None:
    await place.send("a")
    assert place.sql("SELECT id, queue, state FROM messages") == [("a", QUEUE, "ready")]


def move(clock: Any, seconds: float) -> None:
    assert isinstance(clock, VirtualClock)
    clock.now += seconds


@pytest.mark.parametrize("count", [1, 1000])
async def test_depth_counts_exactly(place: Place, count: int) -> None:
    await place.send(*(f"r{n}" for n in range(count)))
    await place.send(*(f"d{n}" for n in range(3)), delay=100.0)
    await place.send("x", queue="other")
    await place.lease(1)
    depths = {depth.queue: depth for depth in await place.broker.depth()}
    assert (depths[QUEUE].ready, depths[QUEUE].delayed, depths[QUEUE].leased) == (count - 1, 3, 1)
    assert depths["other"].ready == 1


async def test_retention_begins_anew_however_much_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came in first and was finished last is found a few rounds later, though the search has passed it."""
    monkeypatch.setattr(retention, "_PIECE", 10)
    monkeypatch.setattr(retention, "_EDGES", 3)
    async with Place(tmp_path / "q.db", keep_seconds=60.0) as place:
        await place.send("late")
        (late,) = await place.lease()
        await place.send(*(f"first{n}" for n in range(30)), queue="nobody")
        await sweep(place)
        (passed,) = place.sql("SELECT value FROM meta WHERE name = 'message_cursor'")
        assert passed[0] > 0
        await place.broker.ack([Ack(late)])
        move(place.clock, 61.0)
        await place.send(*(f"young{n}" for n in range(500)), queue="nobody")  # each of their 50 pieces is an edge
        for _ in range(5):
            await sweep(place)
        assert await place.state.records.get("late") is None


async def test_others_write_while_the_journal_is_pruned(place: Place) -> None:
    """A week of events in one transaction would keep everybody's write lock for seconds."""
    journal = place.state.journal
    big = "x" * 10_000
    for _ in range(300):
        await journal.append([Event(EventKind.COMPLETED, place.clock.wall(), data={"text": big})])
    await journal.sample([Sample("q", "t", 1.0, place.clock.wall()) for _ in range(50)])
    _pass(place, 100.0)
    await journal.append([Event(EventKind.COMPLETED, place.clock.wall())])
    statements: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def on_statement(statement: str) -> None:
        statements.append(statement)
        if "DELETE FROM journal" in statement and not begun.is_set():
            begun.set()
            assert go_on.wait(30)

    place.store._writer._db.set_trace_callback(on_statement)
    pruning = asyncio.ensure_future(journal.prune(50.0))
    await asyncio.sleep(0)
    assert await asyncio.to_thread(begun.wait, 30)
    sending = asyncio.ensure_future(place.send("meanwhile"))
    await asyncio.sleep(0)
    go_on.set()
    await sending
    assert await pruning == 300
    sent = next(place for place, statement in enumerate(statements) if "INSERT INTO message" in statement)
    assert any("DELETE FROM journal" in statement for statement in statements[sent:]), "it came in between"
    assert statements.count("COMMIT") >= 4
    assert await journal.samples("q", "t") == []
    assert [one.seq for one in await journal.read()] == [301]


async def test_an_emptied_page_goes_with_the_next_ones(place: Place) -> None:
    journal = place.state.journal
    for _ in range(3):
        await journal.append([Event(EventKind.COMPLETED, place.clock.wall())])
        _pass(place, 100.0)
        assert await journal.prune(50.0) == 1
    assert place.sql("SELECT last_seq, count FROM journal") == [(3, 0)]
