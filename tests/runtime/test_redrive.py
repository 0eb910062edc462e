"""Dead letters go back by what they are, at a rate, and nothing is moved twice or forgotten."""

import asyncio

import msgspec
import pytest

from tenure.adapters.memory import connect
from tenure.broker import Broker, Query
from tenure.client.operator import Operator
from tenure.client.redrive import Which
from tenure.errors import BrokerUnavailable
from tenure.event import EventKind
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import DeadLetter
from tenure.state import State
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

BODY = msgspec.Raw(b"{}")


class Place:
    """A memory broker with dead letters in it, in virtual time."""

    def __init__(self, clock: VirtualClock, broker: Broker, state: State) -> None:
        self.clock, self.broker, self.state = clock, broker, state
        self.operator = Operator(broker, state, clock, by="ada")
        self.count = 0

    async def bury(self, number: int, code: str = "rejected", *, task: str = "work", queue: str = "mail") -> list[str]:
        ids = []
        for _ in range(number):
            self.count += 1
            message = Message(id=f"m{self.count:04}", queue=queue, task=task, body=BODY, sent_at=self.clock.wall())
            await self.broker.send([Outgoing(message)])
            (lease,) = await self.broker.lease(LeaseRequest("me/1", message.id, (queue,), 1, 30.0))
            await self.broker.dead_letter([DeadLetter(lease, Reason(code, "broken"))])
            ids.append(message.id)
        return ids

    async def dead(self) -> list[str]:
        page = await self.broker.browse(Query(states=(MessageState.DEAD,), queues=("mail", "other"), limit=9999))
        return [one.id for one in page.messages]


@pytest.fixture
def place() -> Place:
    clock = VirtualClock()
    return Place(clock, *connect(clock=clock))


async def test_those_go_back_that_are_meant(place: Place) -> None:
    rejected, used_up = await place.bury(2), await place.bury(2, "max_attempts")
    other = await place.bury(1, queue="other")
    done = await place.operator.redrive_all(["mail"], Which(reason="rejected"))
    assert (done.found, done.moved, done.kinds) == (tuple(rejected), tuple(rejected), {"work (rejected)": 2})
    assert await place.dead() == [*used_up, *other]


async def test_by_task_and_by_when_they_died(place: Place) -> None:
    await place.bury(2)
    await asyncio.sleep(100.0)
    then = place.clock.wall()
    late, nap = await place.bury(2), await place.bury(1, task="nap")
    for which, meant in (
        (Which(since=then), [*late, *nap]),
        (Which(since=then, task="nap"), nap),
        (Which(before=then, task="nap"), []),
        (Which(since=then, limit=2), late),
        (Which(task="nope"), []),
    ):
        found = await place.operator.redrive_all(["mail"], which, dry_run=True)
        assert (list(found.found), found.moved) == (meant, ())
    assert len(await place.dead()) == 5


async def test_a_dry_run_changes_nothing_and_records_nothing(place: Place) -> None:
    ids = await place.bury(3)
    found = await place.operator.redrive_all(["mail"], dry_run=True)
    assert (found.found, found.kinds) == (tuple(ids), {"work (rejected)": 3})
    assert await place.dead() == ids
    assert await place.state.journal.read() == []


async def test_a_rate_is_kept_and_each_batch_is_recorded(place: Place) -> None:
    ids = await place.bury(100)
    began = place.clock.monotonic()
    done = await place.operator.redrive_all(["mail"], per_second=20.0)
    assert done.moved == tuple(ids)
    # The last of twenty batches of five leaves a quarter of a second before the five seconds are over.
    assert 4.7 <= place.clock.monotonic() - began <= 5.0
    events = [stored.event for stored in await place.state.journal.read()]
    assert [(event.kind, event.data["count"]) for event in events] == [(EventKind.REDRIVEN, 5)] * 20
    assert [id for event in events for id in event.data["ids"]] == ids


async def test_broken_off_it_goes_on_when_it_is_said_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await place.bury(10)
    whole, calls = place.broker.redrive, []

    async def breaks(batch: list[str], queue: str | None) -> list[str]:
        calls.append(batch)
        if len(calls) == 3:
            raise BrokerUnavailable("away")
        return await whole(batch, queue)

    monkeypatch.setattr(place.broker, "redrive", breaks)
    with pytest.raises(BrokerUnavailable):
        await place.operator.redrive_all(["mail"], per_second=8.0)
    left = await place.dead()
    assert left == ids[4:]
    done = await place.operator.redrive_all(["mail"], per_second=8.0)
    assert (done.moved, await place.dead()) == (tuple(left), [])
    counts = [(stored.event.data["count"]) for stored in await place.state.journal.read()]
    assert sum(counts) == 10


async def test_what_was_moved_by_somebody_else_meanwhile_is_left_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await place.bury(4)
    await place.broker.send([])
    whole = place.broker.redrive

    async def late(batch: list[str], queue: str | None) -> list[str]:
        await place.broker.delete([ids[1]])
        return await whole(batch, queue)

    monkeypatch.setattr(place.broker, "redrive", late)
    done = await place.operator.redrive_all(["mail"])
    assert (done.found, done.moved) == (tuple(ids), (ids[0], ids[2], ids[3]))


async def test_letters_of_several_queues_go_back_with_one_event_for_each(place: Place) -> None:
    mail, other = await place.bury(2), await place.bury(3, queue="other")
    done = await place.operator.redrive_all(["*"])
    assert sorted(done.moved) == sorted([*mail, *other])
    events = [stored.event for stored in await place.state.journal.read()]
    assert [(event.queue, event.data["ids"]) for event in events] == [("mail", mail), ("other", other)]
