"""A file of the first version becomes one of this version when it is opened, and nothing in it is lost."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tenure import envelope
from tenure.adapters.sqlite import schema
from tenure.adapters.sqlite.receipt import receipt_for
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED, DEAD, DELAYED, KEYED, LEASED, NOTED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.broker import SweepRequest
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.notice import Pause, Post, PostKind
from tenure.query import Query
from tenure.settlement import Ack, Outcome
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

from .place import QUEUE, Place, message

FENCE = 16777217
OWNER = "w/1"
POST = Post(kind=PostKind.PAUSED_SCHEDULE, name="nightly", at=1.0, by="ada")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as the first version left it, with a message in each state."""
    clock = VirtualClock()
    path = tmp_path / "q.db"
    now, wall = micros(clock.wall()), clock.wall()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.migrate(db, str(path), schema.MIGRATIONS[:1])
        add = _adder(db, wall)
        add("ready", READY, now)
        add("leased", LEASED, now + micros(30.0), fence=FENCE, deliveries=1, extras=KEYED, key="k")
        add("delayed", DELAYED, now + micros(60.0))
        add("completed", COMPLETED, now, envelope=None, finished_at=wall, result=b"42")
        reason = b'{"code":"error","text":"it broke"}'
        add("dead", DEAD, now, finished_at=wall, attempts=3, extras=NOTED, reason=reason)
        add("cancelled", CANCELLED, now, envelope=None, finished_at=wall)
        db.execute("INSERT INTO loan VALUES (?, ?, 'r', 30.0)", (FENCE, OWNER))
        db.execute("INSERT INTO note (seq, history) VALUES (5, ?)", (b'[{"at":1.0,"how":"dead"}]',))
        scope = '["mail","deliver","key:k",0]'
        digest = "d" * 64
        db.execute(
            "INSERT INTO claim (scope, id, digest, state, moment) VALUES (?, 'leased', ?, 'sent', ?)",
            (scope, digest, now),
        )
        db.execute(
            "INSERT INTO journal VALUES (1, 1, ?1, ?1, ?2)", (wall, b'[{"kind":"dead","at":1.0,"message_id":"dead"}]')
        )
    return path


def _adder(db: sqlite3.Connection, wall: float) -> Any:
    def add(id: str, state: int, moment: int, key: str | None = None, **columns: Any) -> None:
        raw = envelope.encode(message(id, key=key, sent_at=wall))
        values = {"id": id, "queue": QUEUE, "task": "deliver", "state": state, "moment": moment, "priority": 5,
                  "sent_at": wall, "envelope": raw, **columns}  # fmt: skip
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        db.execute(f"INSERT INTO message ({names}) VALUES ({marks})", list(values.values()))  # noqa: S608 - constants

    return add


async def test_the_file_is_upgraded_in_place(old: Path) -> None:
    with contextlib.closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert "uniqueness" not in {name for _, name, *_ in db.execute("PRAGMA table_info(message)")}
    async with Place(old) as place:
        assert place.sql("PRAGMA user_version") == [(len(schema.MIGRATIONS),)]
        assert place.sql("PRAGMA integrity_check") == [("ok",)]
        assert place.sql('SELECT "unique", count(*) FROM messages') == [(None, 6)]


async def test_every_message_is_in_its_state(old: Path) -> None:
    async with Place(old) as place:
        for state in MessageState:
            record = await place.record(str(state))
            assert record.state is state
        assert (await place.record("completed")).result == b"42"
        dead = await place.record("dead")
        assert (dead.reason, [ending.how for ending in dead.history]) == (Reason("error", "it broke"), ["dead"])
        (depth,) = await place.broker.depth()
        assert (depth.ready, depth.leased, depth.delayed, depth.dead) == (1, 1, 1, 1)
        assert [stored.event for stored in await place.state.journal.about("dead")] == [
            Event(EventKind.DEAD, 1.0, message_id="dead")
        ]


async def test_every_message_can_go_its_way(old: Path) -> None:
    async with Place(old) as place:
        held = Lease("leased", QUEUE, b"", OWNER, FENCE, receipt_for(2, "leased"), 30.0, 0.0)
        (settlement,) = await place.broker.ack([Ack(held, b"1")])
        assert settlement.outcome is Outcome.DELETED
        assert [lease.id for lease in await place.lease(9)] == ["ready"]
        assert await place.broker.redrive(["dead"]) == ["dead"]
        (lease,) = await place.lease(9, owner="w/2")
        assert (lease.id, lease.fence > FENCE) == ("dead", True)
        assert await place.broker.cancel(["ready", "delayed", "completed", "dead", "cancelled"]) == [
            MessageState.LEASED,
            MessageState.DELAYED,
            None,
            MessageState.LEASED,
            None,
        ]
        notices = await place.state.board.read()
        assert (notices.cancels, sorted(notices.cancelled)) == (2, ["dead", "ready"])
        assert (await place.send("completed"))[0].duplicate


async def test_a_lease_from_before_counts_as_a_workers(old: Path) -> None:
    """Only workers leased then; its loan does not say so."""
    clock = VirtualClock()
    async with Place(old, clock) as place:
        assert (await place.broker.sweep(SweepRequest(interval_seconds=60.0))).moved == 0
        clock.now += 40.0
        assert (await place.broker.sweep(SweepRequest(interval_seconds=60.0))).returned == ("leased",)
        counters = (await place.record("leased")).counters
        assert (counters.attempts, counters.lost) == (0, 1)


async def test_what_is_new_works_on_it(old: Path) -> None:
    async with Place(old) as place:
        assert [sent.id for sent in await place.send("a", "b", unique="u")] == ["a", "a"]
        # Those from before wait too, but nobody said that they may wait only once.
        assert not (await place.send("c", unique="deliver"))[0].duplicate
        assert [sent.id for sent in await place.send("e", "f", unique="v", expires_at=9.0)] == ["e", "e"]
        assert (await place.send("g", unique="v"))[0].id == "g", "the one that waits may expire"
        assert await place.state.board.pause(Pause(QUEUE, 1.0, "ada"))
        assert await place.state.board.post(POST)
        assert await place.state.key_values.put("token", "t", b"{}", expect=None) is not None
    async with Place(old) as place:
        assert (await place.send("d", unique="u"))[0].id == "a"
        notices = await place.state.board.read()
        assert (notices.paused, notices.posts) == ((Pause(QUEUE, 1.0, "ada"),), (POST,))
        assert [one.name for one in await place.state.key_values.list("token")] == ["t"]


async def test_whoever_has_it_open_meanwhile_goes_on(old: Path) -> None:
    """As a worker of the first version does, until it is started anew."""
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as theirs:
        theirs.execute("PRAGMA journal_mode = WAL")
        statement = "INSERT INTO message (moment, id, queue, task, priority, sent_at, envelope) VALUES (?,?,?,?,?,?,?)"
        theirs.execute(statement, (0, "x", QUEUE, "deliver", 5, 1.0, b"{}"))
        async with Place(old) as place:
            theirs.execute(statement, (0, "y", QUEUE, "deliver", 5, 1.0, b"{}"))
            theirs.execute("UPDATE message SET state = ? WHERE id = 'ready'", (LEASED,))
            theirs.execute("INSERT INTO loan (owner, request, seconds) VALUES ('theirs/1', 'r', 30.0)")
            assert [lease.id for lease in await place.lease(9)] == ["x", "y"]


async def test_those_who_look_see_what_is_in_it(old: Path) -> None:
    async with Place(old) as place:
        for state in MessageState:
            page = await place.broker.browse(Query(states=(state,)))
            assert [one.id for one in page.messages] == [str(state)]
        (held,) = (await place.broker.leases()).leases
        assert (held.id, held.owner, held.leased_at, held.beats) == ("leased", OWNER, None, 0)
        assert await place.broker.find("leased", OWNER, FENCE) is not None
        assert await place.broker.queues() == [QUEUE]
        assert await place.state.acts.read() == []
