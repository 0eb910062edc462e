"""The journal does not grow for ever."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from tenure.act import Act
from tenure.adapters.memory import connect
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind, StoredEvent
from tenure.runtime.background.journal_pruner import PRUNE_SECONDS, JournalPruner
from tenure.sample import Sample, StoredSample
from tenure.state import State
from tenure.testing.virtual import VirtualClock


def beside(state: State, journal: "FakeJournal") -> State:
    """The place, with another journal."""
    return cast(
        "State", SimpleNamespace(journal=journal, board=state.board, acts=state.acts, key_values=state.key_values)
    )


class FakeJournal:
    """Notes how it is pruned; is away the first time."""

    def __init__(self) -> None:
        self.pruned: list[float] = []

    async def append(self, events: Sequence[Event]) -> None: ...

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        return [StoredEvent(1, Event(EventKind.COMPLETED, 0.0))]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        return []

    async def last(self) -> int:
        return 1

    async def prune(self, older_than_seconds: float) -> int:
        self.pruned.append(older_than_seconds)
        if len(self.pruned) == 1:
            msg = "away"
            raise BrokerUnavailable(msg)
        return 1

    async def sample(self, batch: Sequence[Sample]) -> None: ...

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = 1000) -> list[StoredSample]:
        return []


async def test_it_prunes_by_its_window_and_survives_an_outage(virtual_clock: VirtualClock) -> None:
    journal = FakeJournal()
    _, state = connect(clock=virtual_clock)
    task = asyncio.create_task(JournalPruner(beside(state, journal), 3600.0).run())
    await asyncio.sleep(PRUNE_SECONDS * 2.5)
    task.cancel()
    assert journal.pruned == [3600.0, 3600.0]


async def test_one_of_many_prunes_and_another_when_it_is_gone(virtual_clock: VirtualClock) -> None:
    journals = [FakeJournal() for _ in range(3)]
    _, state = connect(clock=virtual_clock)
    tasks = [asyncio.create_task(JournalPruner(beside(state, journal), 3600.0).run()) for journal in journals]
    await asyncio.sleep(PRUNE_SECONDS * 3.5)
    assert sorted(len(journal.pruned) for journal in journals) == [0, 0, 3]
    gone = next(number for number, journal in enumerate(journals) if journal.pruned)
    tasks[gone].cancel()
    await asyncio.sleep(PRUNE_SECONDS * 3)
    assert len(journals[gone].pruned) == 3
    assert sum(len(journal.pruned) for journal in journals) >= 4
    for task in tasks:
        task.cancel()


async def test_acts_are_kept_for_400_days(virtual_clock: VirtualClock) -> None:
    _, state = connect(clock=virtual_clock)
    await state.acts.record([Act("paused", virtual_clock.wall(), queue="mail")])
    task = asyncio.create_task(JournalPruner(state, 3600.0).run())
    await asyncio.sleep(399 * 86_400.0)
    assert [stored.act.queue for stored in await state.acts.read()] == ["mail"]
    await asyncio.sleep(2 * 86_400.0)
    assert await state.acts.read() == []
    task.cancel()


async def test_key_values_are_removed_when_their_time_is_over(virtual_clock: VirtualClock) -> None:
    _, state = connect(clock=virtual_clock)
    wall = virtual_clock.wall()
    for name, expires_at in (("a", wall + 60.0), ("b", wall + 86_400.0), ("c", None)):
        await state.key_values.put("token", name, b"{}", expect=None, expires_at=expires_at)
    task = asyncio.create_task(JournalPruner(state, 3600.0).run())
    await asyncio.sleep(PRUNE_SECONDS * 1.5)
    task.cancel()
    assert [name for _, name in state._store.key_values] == ["b", "c"]
