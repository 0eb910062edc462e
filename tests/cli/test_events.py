"""`tenure events`: what happened, in plain English; following without gaps, or saying that there is one."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.cli.commands.events.reading import Away, Back, Batch, Gap, Heard, follow, last
from tenure.cli.commands.events.sentences import STYLES, sentence
from tenure.client.operations.event_choice import EventChoice
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind, StoredEvent
from tenure.state import Journal

from .conftest import URL, Run, worked

AT = 1_800_000_000.0


def _event(kind: EventKind, **more: Any) -> Event:
    return Event(kind, AT, **more)


RUN = {"queue": "mail-tasks", "task": "send", "message_id": "0192", "owner": "w1/00", "attempt": 2, "seconds": 0.34}

SENTENCES = [
    (_event(EventKind.COMPLETED, **RUN), "send 0192 in mail-tasks completed at attempt 2 after 340 ms on w1/00"),
    (
        _event(EventKind.RETRIED, **RUN,
               data={"code": "error", "reason": "ValueError: no\nmore", "after_seconds": 3.0}),
        "send 0192 in mail-tasks failed at attempt 2 after 340 ms on w1/00: ValueError: no; next try in 3.0 s",
    ),
    (
        _event(EventKind.DEAD, **RUN, data={"code": "rejected", "reason": "broken"}),
        "send 0192 in mail-tasks died at attempt 2 after 340 ms on w1/00: rejected: broken",
    ),
    (
        _event(EventKind.REQUEUE, queue="mail-tasks", data={"count": 3, "dlq_count": 1, "triggered_by": "scheduler"}),
        "3 messages in mail-tasks returned to the queue, by a sweep, 1 more went to the dead letters",
    ),
    (
        _event(EventKind.MOVE_TO_DLQ, queue="mail-tasks", data={"count": 1, "triggered_by": "scheduler"}),
        "1 message in mail-tasks moved to the dead letters, by a sweep",
    ),
    (
        _event(EventKind.LEASE_LOST, queue="q", task="send", message_id="0192", owner="w1/00",
               data={"code": "cancelled", "by": "ada"}),
        "send 0192 in q was cancelled by ada while it ran on w1/00; nothing was settled",
    ),
    (
        _event(EventKind.OWNER_RETIRED, owner="w1/00", data={"proof": "its lock is free", "count": 2}),
        "worker w1/00 is dead (its lock is free); 2 messages returned",
    ),
    (
        _event(EventKind.PURGED, queue="q",
               data={"count": 2, "state": "ready", "by": "ada@host", "triggered_by": "cli"}),
        "2 ready messages in q purged, by ada@host (the command line)",
    ),
    (_event(EventKind.PAUSED, queue="q", data={"by": "ada"}), "queue q paused, by ada"),
    (_event(EventKind.OWNER_JOINED, owner="w1/00"), "worker w1/00 started"),
    (_event(EventKind.SWEEP_GRACE), "no sweep ran for a while: leases got a fresh window"),
    (_event(EventKind.RETRIED), "erased: its client was forgotten"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "text"), SENTENCES, ids=[event.kind for event, _ in SENTENCES])
def test_an_event_is_a_sentence(event: Event, text: str) -> None:
    assert sentence(event) == text


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_is_told_also_with_nothing_in_it(kind: EventKind) -> None:
    assert sentence(_event(kind))
    assert "None None" not in sentence(_event(kind, **RUN))
    assert set(STYLES) <= {kind.value for kind in EventKind}


CHOICES = [
    (EventChoice(), True), (EventChoice(kinds=frozenset({"dead"})), True),
    (EventChoice(kinds=frozenset({"retried"})), False),
    (EventChoice(queues=("*-tasks",)), True), (EventChoice(queues=("other",)), False), (EventChoice(task="send"), True),
    (EventChoice(task="x"), False), (EventChoice(message="0192"), True), (EventChoice(message="in-ids"), True),
    (EventChoice(message="x"), False), (EventChoice(owner="w1"), True),
    (EventChoice(owner="w1/00"), True), (EventChoice(owner="w"), False),
    (EventChoice(since=AT), True), (EventChoice(since=AT + 1), False), (EventChoice(task="send", owner="other"), False),
]  # fmt: skip


@pytest.mark.parametrize(("choice", "is_meant"), CHOICES)
def test_filters(choice: EventChoice, is_meant: bool) -> None:
    assert choice.means(_event(EventKind.DEAD, **RUN, data={"ids": ["in-ids"]})) is is_meant


def test_the_last_events_of_a_place(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "good")
    tenure("submit", "jobs:app", "resize", '{"image": "broken"}', "--id", "bad")
    worked("good", "bad")
    shown = tenure("events", URL).stdout
    assert "dead                resize bad in default-tasks died at attempt 1" in shown
    assert "1 completed message left out" in shown
    assert "good" not in shown
    assert "resize good in default-tasks completed" in tenure("events", URL, "--all").stdout
    assert "resize good in default-tasks completed" in tenure("events", URL, "--message", "good").stdout
    lines = tenure("events", URL, "--kind", "dead", "--kind", "completed", "--json").stdout.splitlines()
    assert sorted(json.loads(line)["kind"] for line in lines) == ["completed", "dead"]
    assert json.loads(lines[0])["seq"] > 0
    assert tenure("events", URL, "--queue", "nowhere").stderr == "No such event.\n"
    assert len(tenure("events", URL, "--all", "-n", "1", "--json").stdout.splitlines()) == 1
    assert tenure("events", URL, "--since", "1h", "--kind", "owner_joined", "--json").stdout.count("\n") == 1


async def _next(heard: AsyncIterator[Heard]) -> Heard:
    async with asyncio.timeout(10_000.0):
        return await anext(heard)


async def _meant(heard: AsyncIterator[Heard]) -> list[str]:
    batch = await _next(heard)
    assert isinstance(batch, Batch)
    return [str(stored.event.message_id) for stored in batch.events]


async def test_following_waits_for_the_journal_and_counts_what_it_leaves_out() -> None:
    async with Tenure("memory://") as app:
        journal = app.state.journal
        await journal.append([_event(EventKind.DEAD, message_id="before")])
        found = await last(app, EventChoice(), 10)
        assert [one.event.message_id for one in found.events] == ["before"]
        heard = follow(app, EventChoice(), found.place)
        waiting = asyncio.ensure_future(_next(heard))
        await asyncio.sleep(100.0)
        assert not waiting.done()
        await journal.append([_event(EventKind.COMPLETED, message_id="a"), _event(EventKind.DEAD, message_id="b")])
        batch = await waiting
        assert isinstance(batch, Batch)
        assert ([one.event.message_id for one in batch.events], batch.left_out) == (["b"], 1)


class _Shaky:
    """A journal that is away for a while."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.is_away = False
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            self.reads += 1
            raise BrokerUnavailable("the store is away")
        return getattr(self.journal, name)


async def test_after_an_outage_it_goes_on_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Tenure("memory://") as app:
        shaky = _Shaky(app.state.journal)
        monkeypatch.setattr(type(app.state), "journal", property(lambda _: shaky))
        await shaky.journal.append([_event(EventKind.DEAD, message_id="a")])
        heard = follow(app, EventChoice(), 0)
        assert await _meant(heard) == ["a"]
        shaky.is_away = True
        assert await _next(heard) == Away("the store is away")
        waiting = asyncio.ensure_future(_next(heard))
        await asyncio.sleep(60.0)
        assert shaky.reads < 30
        await shaky.journal.append([_event(EventKind.DEAD, message_id="b")])
        shaky.is_away = False
        assert await waiting == Back()
        assert await _meant(heard) == ["b"]


async def test_a_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Tenure("memory://") as app:
        shaky = _Shaky(app.state.journal)
        monkeypatch.setattr(type(app.state), "journal", property(lambda _: shaky))
        await shaky.journal.append([_event(EventKind.DEAD, message_id="a")])
        heard = follow(app, EventChoice(), 0)
        assert await _meant(heard) == ["a"]
        shaky.is_away = True
        assert isinstance(await _next(heard), Away)
        await shaky.journal.append([_event(EventKind.DEAD, message_id=str(number)) for number in range(5)])
        await _forget(monkeypatch, shaky.journal, 5)
        shaky.is_away = False
        assert await _next(heard) == Back()
        gap = await _next(heard)
        assert gap == Gap(1, 5)
        assert await _meant(heard) == ["3", "4"]


async def _forget(monkeypatch: pytest.MonkeyPatch, journal: Journal, first: int) -> None:
    """The events before this place are gone."""
    read = journal.read

    async def kept(after: int = 0, limit: int = 100) -> list[StoredEvent]:
        return await read(max(after, first - 1), limit)

    async def oldest() -> int:
        return first

    monkeypatch.setattr(journal, "read", kept)
    monkeypatch.setattr(journal, "first", oldest)
