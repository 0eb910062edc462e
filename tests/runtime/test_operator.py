"""What people do to messages and queues from outside, and what stays of it."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tenure.act import MOST_IDS, Act
from tenure.broker import Query
from tenure.client.operator import PURGEABLE, Cancelled, Operator, this_user
from tenure.errors import BrokerUnavailable
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.settlement import DeadLetter
from tenure.testing.harness import BROKEN, QUEUE, Harness


def operator(harness: Harness) -> Operator:
    return Operator(harness.broker, harness.state, harness.clock, by="ada@desk", triggered_by="test")


async def recorded(harness: Harness) -> list[tuple[EventKind, dict[str, Any]]]:
    return [(stored.event.kind, stored.event.data) for stored in await harness.state.journal.read()]


async def test_a_cancel_says_in_which_state_each_message_was_met(harness: Harness) -> None:
    async with harness:
        held = await harness.leased(await harness.owner())
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60)
        answers = await operator(harness).cancel([held.id, ready.id, delayed.id, "nobody"])
        assert answers == [
            Cancelled(held.id, MessageState.LEASED),
            Cancelled(ready.id, MessageState.READY),
            Cancelled(delayed.id, MessageState.DELAYED),
            Cancelled("nobody", None),
        ]
        ((kind, data),) = await recorded(harness)
    assert kind is EventKind.CANCELLED
    assert data == {
        "count": 3,
        "ids": [held.id, ready.id, delayed.id],
        "running": 1,
        "triggered_by": "test",
        "by": "ada@desk",
    }


async def test_nothing_changed_is_not_recorded(harness: Harness) -> None:
    async with harness:
        actor = operator(harness)
        await actor.cancel(["nobody"])
        await actor.delete(["nobody"])
        await actor.redrive(["nobody"])
        assert await actor.resume("mail") is False
        assert await recorded(harness) == []


async def test_dead_letters_go_back_or_away(harness: Harness) -> None:
    async with harness:
        owner = await harness.owner()
        for _ in range(2):
            await harness.broker.dead_letter([DeadLetter(await harness.leased(owner), BROKEN)])
        first, second = (await harness.broker.browse(Query(states=(MessageState.DEAD,), queues=(QUEUE,)))).messages
        actor = operator(harness)
        assert await actor.redrive([first.id]) == [first.id]
        assert await actor.delete([first.id, second.id, second.id]) == [first.id, second.id]
        kinds = [kind for kind, _ in await recorded(harness)]
    assert kinds == [EventKind.REDRIVEN, EventKind.DELETED]


async def test_a_purge_removes_everything_that_nobody_holds(harness: Harness) -> None:
    async with harness:
        owner = await harness.owner()
        held = await harness.leased(owner)
        await harness.put_many(2500)
        await harness.put(delay_seconds=60)
        await harness.put(queue="other")
        removed = [count async for count in operator(harness).purge(QUEUE, PURGEABLE)]
        assert sum(removed) == 2501
        assert (await harness.depth()).leased == 1
        assert (await harness.depth("other")).ready == 1
        assert await harness.state_of(held.id) is MessageState.LEASED
        told = [data for kind, data in await recorded(harness) if kind is EventKind.PURGED]
    assert sum(data["count"] for data in told) == 2501
    assert {data["state"] for data in told} == {"ready", "delayed"}


async def test_a_pause_is_recorded_once_and_ends_with_resume(harness: Harness) -> None:
    async with harness:
        actor = operator(harness)
        assert [await actor.pause("mail"), await actor.pause("mail")] == [True, False]
        (pause,) = (await harness.state.board.read()).paused
        assert (pause.queue, pause.by) == ("mail", "ada@desk")
        assert [await actor.resume("mail"), await actor.resume("mail")] == [True, False]
        kinds = [kind for kind, _ in await recorded(harness)]
    assert kinds == [EventKind.PAUSED, EventKind.RESUMED]


def test_somebody_always_has_a_name() -> None:
    assert this_user()


async def test_an_act_is_recorded_even_if_whoever_asked_gives_up(harness: Harness) -> None:
    async with harness:
        message = await harness.put()
        asking = asyncio.create_task(operator(harness).cancel([message.id], QUEUE))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.sleep(1)
        assert await harness.state_of(message.id) is MessageState.CANCELLED
        assert [kind for kind, _ in await recorded(harness)] == [EventKind.CANCELLED]


class AwayJournal:
    """Answers `times` times with an outage."""

    def __init__(self, inner: Any, times: int) -> None:
        self._inner = inner
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, events: Any) -> None:
        if self._times > 0:
            self._times -= 1
            msg = "away"
            raise BrokerUnavailable(msg)
        await self._inner.append(events)


@pytest.mark.parametrize("times", [1, 100])
async def test_an_act_that_cannot_be_written_down_stands_and_is_told(
    harness: Harness, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with harness:
        message = await harness.put()
        journal = AwayJournal(harness.state.journal, times)
        own = harness.state
        state = cast("Any", SimpleNamespace(journal=journal, board=own.board, records=own.records, acts=own.acts))
        (answer,) = await Operator(harness.broker, state, harness.clock, by="ada").cancel([message.id])
        assert answer.was is MessageState.READY
        kinds = [kind for kind, _ in await recorded(harness)]
        # The audit log has it, whatever became of the journal.
        assert [stored.act.ids for stored in await harness.state.acts.read()] == [(message.id,)]
    if times == 1:
        assert kinds == [EventKind.CANCELLED]
    else:
        assert kinds == []
        assert "could not be written to the journal" in caplog.text
        assert message.id in caplog.text


async def test_a_purge_ends_however_fast_others_send(harness: Harness) -> None:
    async with harness:
        await harness.put_many(1500)
        removed = 0
        async for count in operator(harness).purge(QUEUE, [MessageState.READY]):
            removed += count
            await asyncio.sleep(3)
            await harness.put_many(1500)
            assert removed <= 1500
        assert removed == 1500


async def test_a_purge_removes_messages_of_a_sender_whose_clock_is_a_little_ahead(harness: Harness) -> None:
    async with harness:
        await harness.put(sent_at=harness.state.wall() + 1.5)
        later = await harness.put(sent_at=harness.state.wall() + 60)
        assert sum([count async for count in operator(harness).purge(QUEUE, [MessageState.READY])]) == 1
        assert await harness.state_of(later.id) is MessageState.READY


async def test_every_act_is_in_the_audit_log_with_who_and_whence(harness: Harness) -> None:
    async with harness:
        actor = Operator(
            harness.broker, harness.state, harness.clock, by="ada", triggered_by="http", source="192.0.2.7"
        )
        message = await harness.put()
        await actor.cancel([message.id])
        await actor.pause("mail")
        await actor.resume("mail")
        cancelled, paused, resumed = [stored.act for stored in reversed(await harness.state.acts.read())]
        assert cancelled == Act(
            "cancelled", cancelled.at, "ada", "http", "192.0.2.7", QUEUE, 1, (message.id,), {"running": 0}
        )
        assert [(act.kind, act.queue, act.count) for act in (paused, resumed)] == [
            ("paused", "mail", 0),
            ("resumed", "mail", 0),
        ]


async def test_an_act_names_the_first_hundred_messages_and_counts_all(harness: Harness) -> None:
    async with harness:
        sent = await harness.put_many(250)
        await operator(harness).delete([message.id for message in sent], QUEUE)
        acts = [stored.act for stored in await harness.state.acts.read()]
        assert sum(act.count for act in acts) == 250
        assert all(len(act.ids) == min(MOST_IDS, act.count) for act in acts)


async def test_ids_of_several_queues_are_looked_up_and_recorded_queue_by_queue(harness: Harness) -> None:
    async with harness:
        first, second = await harness.put(), await harness.put(queue="other")
        third = await harness.put()
        answers = await operator(harness).cancel([first.id, second.id, "nobody", third.id])
        assert [one.id for one in answers] == [first.id, second.id, "nobody", third.id]
        events = [stored.event for stored in await harness.state.journal.read()]
        assert [(event.queue, event.data["ids"]) for event in events] == [
            (QUEUE, [first.id, third.id]),
            ("other", [second.id]),
        ]
        assert [(stored.act.queue, stored.act.count) for stored in await harness.state.acts.read()] == [
            ("other", 1),
            (QUEUE, 2),
        ]


async def test_what_is_purged_is_recorded_under_its_queue(harness: Harness) -> None:
    async with harness:
        await harness.put_many(3)
        assert sum([count async for count in operator(harness).purge(QUEUE, PURGEABLE)]) == 3
        (act,) = [stored.act for stored in await harness.state.acts.read()]
        assert (act.kind, act.queue, act.count, act.data) == ("purged", QUEUE, 3, {"state": "ready"})
