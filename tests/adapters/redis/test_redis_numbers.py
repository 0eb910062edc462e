"""Numbers that nobody could have counted, written into our keys by hand: no script loops, and the queue goes on.

In real time and on a server of its own: a script that loops for ever makes all of Redis answer BUSY.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from redis import Redis
from tests.adapters.redis.showing import shown_in
from tests.servers import KINDS, Kind, RedisServer, start_redis

from tenure.adapters import redis
from tenure.broker import SweepRequest
from tenure.clock import SYSTEM_CLOCK
from tenure.event import Event, EventKind
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState, Outgoing, new_id
from tenure.notice import Tick
from tenure.settlement import Ack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

#: What is no number at all, what has no end, what is too large to be counted with, and what is below everything.
ABSURD = ("inf", "-inf", "nan", "1e308", "-1e308", "1e17", "9007199254740993", "-1", "0x7fffffffffffffff", "zz", "")
#: Every number that scripts read from a queue's own hash.
OF_A_QUEUE = ("t", "o", "f", "n", "bk", "bn", "bw", "c5", "al", "ad", "hm", "hz", "hd")
#: And from what belongs to no queue.
OF_ALL = ("t", "o", "swept", "heard", "excused", "unheard", "pace")
HIGHEST = "18446744073709551615"
SWEEP = SweepRequest(interval_seconds=60.0)

pytestmark = pytest.mark.real_time


class Place:
    """A broker in real time, and a plain client beside it."""

    def __init__(self, server: RedisServer) -> None:
        """Nothing is opened yet."""
        options = redis.read_options(server.url, urlsplit(server.url))
        self.broker, self.state = redis.connect(options, clock=SYSTEM_CLOCK)
        self.raw: Any = Redis(port=server.port)
        self.names = self.broker._store.names

    def key(self, name: str, queue: str = QUEUE) -> str:
        """One of a queue's keys."""
        return f"{self.names.queue(queue)}{name}"

    async def send(self, queue: str = QUEUE, **more: Any) -> str:
        """One message; its id."""
        wall = SYSTEM_CLOCK.wall()
        message = Message(id=new_id(wall), queue=queue, task="deliver", body=msgspec.Raw(b"{}"), sent_at=wall)
        (sent,) = await self.broker.send([Outgoing(message, **more)])
        assert (sent.id, sent.duplicate, sent.refusal) == (message.id, False, None)
        return message.id

    async def lease(self, want: int = 10, queue: str = QUEUE, seconds: float = 60.0) -> list[Lease]:
        """Whatever there is."""
        return await self.broker.lease(LeaseRequest("one/1", "r", (queue,), want, seconds))

    async def done(self, *leases: Lease) -> None:
        """Acknowledge, with effect."""
        settled = await self.broker.ack([Ack(lease, b"1") for lease in leases])
        assert [one.outcome for one in settled] == [Outcome.DELETED] * len(leases)

    async def one_of_each(self) -> None:
        """Every act of a life: sent, lent, failed, lent again, done, known as done; and looked at meanwhile."""
        id = await self.send()
        (lease,) = await self.lease()
        assert lease.id == id
        assert [one.id for one in await self.broker.held("one/1")] == [id]
        (nacked,) = await self.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert nacked.outcome is Outcome.RETURNED
        assert (await self.broker.sweep(SWEEP)).moved == 0
        (again,) = await self.lease()
        assert again.id == id
        assert again.fence > lease.fence
        for state in MessageState:
            await shown_in(self.broker, QUEUE, state)
        await self.broker.depth()
        await self.done(again)
        record = await self.state.records.get(id)
        assert record is not None
        assert record.state is MessageState.COMPLETED
        later = Message(id=id, queue=QUEUE, task="deliver", body=msgspec.Raw(b"{}"))
        (repeated,) = await self.broker.send([Outgoing(later)])
        assert repeated.duplicate, "what is done is known as done"


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """On a server that says soon that it is BUSY."""
    kind: Kind = request.param
    with start_redis(kind, tmp_path) as server:
        place = Place(server)
        place.raw.config_set("lua-time-limit", 200)
        yield place


def opened(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Run with an open place, in which something was done already."""

    @wraps(test)
    async def run(place: Place, **given: Any) -> None:
        await place.broker.open()
        await place.state.open()
        try:
            await place.one_of_each()
            await place.broker.sweep(SWEEP)
            await test(place, **given)
        finally:
            await place.state.close()
            await place.broker.close()

    return run


@pytest.mark.parametrize("field", OF_A_QUEUE)
@opened
async def test_absurd_numbers_in_a_queues_hash_stop_nothing(place: Place, field: str) -> None:
    for value in ABSURD:
        place.raw.hset(place.key("meta"), field, value)
        try:
            await place.one_of_each()
            await place.broker.sweep(SWEEP)
        except Exception as error:
            raise AssertionError(f"{field}={value}: {error!r}") from error


@pytest.mark.parametrize("field", OF_ALL)
@opened
async def test_absurd_numbers_in_what_belongs_to_no_queue_stop_nothing(place: Place, field: str) -> None:
    for value in ABSURD:
        place.raw.hset(f"{place.names.common}meta", field, value)
        try:
            await place.one_of_each()
            await place.broker.sweep(SWEEP)
        except Exception as error:
            raise AssertionError(f"{field}={value}: {error!r}") from error


@opened
async def test_all_of_them_at_once_stop_nothing(place: Place) -> None:
    for value in ABSURD:
        place.raw.hset(place.key("meta"), mapping=dict.fromkeys(OF_A_QUEUE, value))
        place.raw.hset(f"{place.names.common}meta", mapping=dict.fromkeys(OF_ALL, value))
        await place.one_of_each()
        await place.broker.sweep(SWEEP)


@pytest.mark.parametrize("rest", ["0", "7", HIGHEST])
@opened
async def test_after_an_entry_with_the_highest_number_the_queue_goes_on(place: Place, rest: str) -> None:
    held = await place.send()
    (lease,) = await place.lease()
    place.raw.xadd(place.key("s5"), {"i": "ghost", "e": "{}"}, id=f"{HIGHEST}-{rest}")
    waiting = [await place.send() for _ in range(3)]
    await place.broker.wait((QUEUE,), 0.01)
    await place.broker.depth()
    leases = await place.lease()
    assert sorted(one.id for one in leases) == sorted(waiting)
    await place.done(lease, *leases)
    assert held
    (dead,) = await shown_in(place.broker, QUEUE, MessageState.DEAD)
    assert dead.reason is not None
    assert dead.reason.code == "malformed_entry"
    assert await place.broker.delete([dead.id]) == [dead.id]
    await place.one_of_each()
    id = await place.send()
    (entry,) = place.raw.xrange(place.key("s5"))
    assert entry[1][b"i"] == id.encode(), "new messages go into the stream again"
    await place.broker.wait((QUEUE,), 0.01)
    assert [one.id for one in await place.lease()] == [id]


@opened
async def test_after_the_highest_entry_was_added_and_removed_the_queue_goes_on(place: Place) -> None:
    place.raw.xadd(place.key("s5"), {"i": "ghost", "e": "{}"}, id=f"{HIGHEST}-{HIGHEST}")
    place.raw.xdel(place.key("s5"), f"{HIGHEST}-{HIGHEST}")
    place.raw.xgroup_setid(place.key("s5"), "tenure", "$")
    await place.one_of_each()
    id = await place.send()
    assert place.raw.xlen(place.key("s5")) == 1
    assert [one.id for one in await place.lease()] == [id]


@pytest.mark.parametrize("due", ["inf", "1e300", "1e17"])
@opened
async def test_a_message_that_would_never_be_due_is_shown_and_waits_again(place: Place, due: str) -> None:
    id = await place.send(delay_seconds=60.0)
    place.raw.zadd(place.key("z"), {id: due})
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.DELAYED)
    assert shown.id == id
    assert shown.due_in is not None
    await place.broker.wait((QUEUE,), 0.01)
    await place.broker.sweep(SWEEP)
    assert [one.id for one in await place.lease()] == [id]


@pytest.mark.parametrize("deadline", ["inf", "1e300", "1e17"])
@opened
async def test_a_lease_that_would_never_end_is_shown_and_gets_a_deadline(place: Place, deadline: str) -> None:
    id = await place.send()
    (lease,) = await place.lease()
    place.raw.zadd(place.key("d"), {id: deadline})
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.LEASED)
    assert (shown.id, shown.owner) == (id, "one/1")
    (held,) = await place.broker.held("one/1")
    assert held.id == id
    await place.broker.sweep(SWEEP)
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.LEASED)
    assert shown.deadline_in is not None
    assert shown.deadline_in < SWEEP.lease_seconds + 61
    await place.done(lease)


@pytest.mark.parametrize("record", ["5" + "9" * 30 + "|0|x", "x5" + HIGHEST + "|inf|x", "nonsense"])
@opened
async def test_a_record_with_an_absurd_number_stops_nothing(place: Place, record: str) -> None:
    place.raw.hset(place.key("m"), "ghost", record)
    place.raw.zadd(place.key("b5"), {"ghost": 1})
    place.raw.zadd(place.key("z"), {"ghost": 1})
    await place.broker.sweep(SWEEP)
    await place.lease()
    for state in MessageState:
        await shown_in(place.broker, QUEUE, state)
    await place.broker.depth()
    dead = await shown_in(place.broker, QUEUE, MessageState.DEAD)
    assert [one.id for one in dead] == ["ghost"]
    await place.one_of_each()


@opened
async def test_a_loan_of_absurd_length_stops_nothing(place: Place) -> None:
    id = await place.send()
    (lease,) = await place.lease()
    for loan in ("9" * 400 + "|5|one/1r", "1|" + "9" * 400 + "|one/1r", "|||"):
        place.raw.hset(place.key("loan"), lease.fence, loan)
        await place.broker.held("one/1")
        await shown_in(place.broker, QUEUE, MessageState.LEASED)
        await place.broker.sweep(SWEEP)
    assert (await place.state.records.get(id)) is not None


@pytest.mark.parametrize("value", ABSURD)
@opened
async def test_absurd_numbers_of_a_message_stop_nothing(place: Place, value: str) -> None:
    id = await place.send()
    (lease,) = await place.lease()
    await place.broker.nack([Nack(lease, 0.0, BROKEN)])
    place.raw.hset(place.key(f"x:{id}"), mapping=dict.fromkeys(("d", "a", "c", "l", "s", "ma", "f", "ex"), value))
    (lease,) = await place.lease()
    assert lease.id == id
    assert 0 < lease.seconds <= place.broker.traits.max_lease_seconds
    assert (await place.state.records.get(id)) is not None
    await place.done(lease)


@pytest.mark.parametrize("value", ABSURD)
@opened
async def test_absurd_numbers_in_journal_and_turns_stop_nothing(place: Place, value: str) -> None:
    common = place.names.common
    place.raw.set(f"{common}journal:n", value)
    place.raw.hset(f"{common}turns", "sweep", f"{value}|somebody")
    place.raw.hset(f"{common}ticks:at", "nightly", value)
    place.raw.hset(f"{common}samples", "deliver", value)
    await place.state.journal.append([Event(EventKind.COMPLETED, SYSTEM_CLOCK.wall(), QUEUE, message_id="one")])
    await place.state.journal.append([Event(EventKind.COMPLETED, SYSTEM_CLOCK.wall(), QUEUE, message_id="two")])
    events = await place.state.journal.read()
    assert [one.event.message_id for one in events[-2:]] == ["one", "two"]
    assert await place.state.board.take_turn("sweep", "me", 5.0)
    assert await place.state.board.tick(Tick(schedule="nightly", at=SYSTEM_CLOCK.wall()))


@opened
async def test_a_journal_page_with_the_highest_number_stops_nothing(place: Place) -> None:
    event = Event(EventKind.COMPLETED, SYSTEM_CLOCK.wall(), QUEUE, message_id="one")
    await place.state.journal.append([event])
    place.raw.xadd(f"{place.names.common}journal", {"a": "1"}, id=f"{HIGHEST}-{HIGHEST}")
    for _ in range(2):
        await place.state.journal.append([event])
    assert len(await place.state.journal.read()) == 3
    await place.state.journal.about("one")


@pytest.mark.parametrize("sent", ["inf", "nan", "1e400", "zz"])
@opened
async def test_a_record_sent_at_no_moment_stops_nothing(place: Place, sent: str) -> None:
    id = await place.send()
    record = place.raw.hget(place.key("m"), id).split(b"|")
    place.raw.hset(place.key("m"), id, b"|".join([record[0], sent.encode(), record[2]]))
    for state in MessageState:
        await shown_in(place.broker, QUEUE, state)
    await place.broker.depth()
    await place.broker.sweep(SWEEP)
    (lease,) = await place.lease()
    await place.done(lease)
    await place.one_of_each()


@pytest.mark.parametrize("how", ["plain", "special"])
@opened
async def test_a_running_message_whose_record_was_overwritten_is_shown_and_finished(place: Place, how: str) -> None:
    id = await place.send(delay_seconds=0.001) if how == "special" else await place.send()
    await asyncio.sleep(0.01)
    (lease,) = await place.lease()
    place.raw.hset(place.key("m"), id, b"\xff\x00 overwritten")
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.LEASED)
    assert (shown.id, shown.owner) == (id, "one/1")
    await place.broker.sweep(SWEEP)
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.LEASED)
    assert (shown.id, shown.envelope) == (id, lease.envelope)
    record = await place.state.records.get(id)
    assert record is not None
    assert record.task == "deliver"
    await place.done(lease)
    record = await place.state.records.get(id)
    assert record is not None
    assert record.state is MessageState.COMPLETED


@opened
async def test_an_overwritten_record_is_made_anew_by_whoever_settles(place: Place) -> None:
    id = await place.send()
    (lease,) = await place.lease()
    place.raw.hset(place.key("m"), id, "overwritten")
    (nacked,) = await place.broker.nack([Nack(lease, 0.0, BROKEN)])
    assert nacked.outcome is Outcome.RETURNED
    (again,) = await place.lease()
    assert (again.id, again.envelope, again.counters.attempts) == (id, lease.envelope, 1)
    place.raw.hset(place.key("m"), id, "overwritten again")
    await place.done(again)
    record = await place.state.records.get(id)
    assert record is not None
    assert record.state is MessageState.COMPLETED


@opened
async def test_a_running_message_of_which_nothing_is_left_becomes_a_dead_letter(place: Place) -> None:
    id = await place.send()
    await place.lease(seconds=0.2)
    place.raw.hset(place.key("m"), id, b"\xff overwritten")
    place.raw.xtrim(place.key("s5"), 0)
    (shown,) = await shown_in(place.broker, QUEUE, MessageState.LEASED)
    assert shown.id == id
    await asyncio.sleep(0.25)
    assert (await place.broker.sweep(SWEEP)).dead == (id,)
    (dead,) = await shown_in(place.broker, QUEUE, MessageState.DEAD)
    assert (dead.id, dead.envelope) == (id, b"\xff overwritten")
    await place.one_of_each()
