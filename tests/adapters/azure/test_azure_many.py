"""Many workers, many messages, long lives: what each costs, what is kept once, and what must not grow."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.adapters.azure.test_azure_faults import CHANGE, ProxiedHarness, harness, queue_proxy, table_proxy
from tests.servers.azure import shared_azure

from tenure.adapters import azure
from tenure.adapters.azure import log as logs
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.store import COMMON
from tenure.broker import Sent, SweepRequest
from tenure.claim import ClaimRequest, Running, Scope
from tenure.clock import SystemClock
from tenure.errors import BrokerUnavailable, OwnerRetired
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest
from tenure.message import Message, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Outcome
from tenure.state import State
from tenure.testing.harness import BROKEN, QUEUE

__all__ = ["harness", "queue_proxy", "table_proxy"]


def _events(harness: ProxiedHarness, count: int, word: str = "m") -> list[Event]:
    return [Event(EventKind.COMPLETED, harness.clock.wall(), QUEUE, "t", f"{word}{n}") for n in range(count)]


async def _ids(harness: ProxiedHarness) -> list[str | None]:
    return [one.event.message_id for one in await harness.state.journal.read(limit=5000)]


# --- the journal ----------------------------------------------------------------------------------------


def _calls(pairs: list[tuple[Any, State]]) -> int:
    """How often the table was asked."""
    return sum(broker._store.clients.calls["table"] for broker, _ in pairs)


async def test_many_who_write_the_journal_do_not_fight_for_it(harness: ProxiedHarness) -> None:
    pairs = [azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time) for _ in range(12)]
    for broker, _ in pairs:
        await broker.open()

    async def write(state: State, name: str) -> None:
        for turn in range(4):
            await state.journal.append(_events(harness, 3, f"{name}-{turn}-"))

    before = _calls(pairs)
    await asyncio.gather(*(write(state, str(number)) for number, (_, state) in enumerate(pairs)))
    calls = _calls(pairs) - before
    found = await _ids(harness)
    assert (len(found), len(set(found))) == (144, 144)
    assert calls / 48 < 5  # one for each of those who write at once would be 12
    for broker, _ in pairs:
        await broker.close()


@pytest.mark.parametrize("is_lost", [False, True], ids=["refused", "reply_lost"])
async def test_a_batch_that_is_repeated_after_an_error_is_kept_once(harness: ProxiedHarness, is_lost: bool) -> None:
    events = _events(harness, 120)
    table, count = harness.table, 0

    def third(call: Any) -> bool:
        nonlocal count
        is_change = bool(CHANGE(call))
        count += is_change
        return is_change and count == 3

    table.rule(third, table.drop_reply if is_lost else table.answer(503))
    with pytest.raises(BrokerUnavailable):
        await harness.state.journal.append(events)
    await harness.state.journal.append(events)
    assert await _ids(harness) == [event.message_id for event in events]
    await harness.state.journal.append(events)  # not after an error: told again, so kept again
    assert len(await _ids(harness)) == 240


async def test_an_event_of_a_message_with_a_very_long_id_holds_up_no_others(harness: ProxiedHarness) -> None:
    wall, ids = harness.clock.wall(), ["i" * 40_000, "m1"]
    await harness.state.journal.append([Event(EventKind.DEAD, wall, "mail", "deliver", id) for id in ids])
    for id in ids:
        assert [one.event.message_id for one in await harness.state.journal.about(id)] == [id]


async def test_events_that_name_very_many_messages_are_kept(harness: ProxiedHarness) -> None:
    data = {"ids": ["x" * 200] * 1000}
    events = [Event(EventKind.REQUEUE, harness.clock.wall(), data=data) for _ in range(30)]
    await harness.state.journal.append(events)
    assert await harness.state.journal.last() == 30


# --- the log --------------------------------------------------------------------------------------------


class _Log:
    """The log of one process, without its journal, and everything it wrote to files that take three appends."""

    def __init__(self, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = logs.ProcessedLog(store)
        self.away = 0
        real = self.log._append_to

        async def append_to(blob: Any, data: bytes) -> None:
            self.away -= 1
            if self.away >= 0:
                raise BrokerUnavailable("away")
            await real(blob, data)

        monkeypatch.setattr(self.log, "_append_to", append_to)


async def test_lines_of_a_log_that_was_away_follow_and_nothing_waits_for_it(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = f"s{os.urandom(4).hex()}"
    store: Any = harness._store
    monkeypatch.setattr(store, "options", msgspec.structs.replace(store.options, log=service))
    one, two = _Log(store, monkeypatch), _Log(store, monkeypatch)
    one.away = 1
    await one.log.write(_events(harness, 3, "a"))
    await one.log.write(_events(harness, 3, "b"))  # not even tried: it may take long to fail
    assert one.away == 0
    await asyncio.gather(two.log.write(_events(harness, 3, "c")), two.log.write(_events(harness, 3, "d")))
    await harness.advance(logs._AWAY_SECONDS + 1)
    await one.log.write(_events(harness, 3, "e"))
    container = store.clients.blob_service.get_container_client(logs.CONTAINER)

    async def look() -> list[str]:
        names = [name async for name in container.list_blob_names(name_starts_with=service)]
        data = b"".join([await (await container.download_blob(name)).readall() for name in names])
        return [msgspec.json.decode(line)["message_id"] for line in data.splitlines()]

    assert sorted(await store.call("looking", look)) == [f"{word}{n}" for word in "abcde" for n in range(3)]


# --- sweeps and looks -----------------------------------------------------------------------------------


async def test_a_sweep_reads_no_lease_that_is_not_overdue(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.put_many(40)
    leases = await harness.lease_all(harness.stranger())
    await harness.broker.give_back([GiveBack(leases[0], 60.0)])
    read: list[int] = []
    real = harness._store.lives

    async def lives(*words: Any, **more: Any) -> Any:
        found = await real(*words, **more)
        read.append(len(found))
        return found

    monkeypatch.setattr(harness._store, "lives", lives)
    await harness.sweep()
    assert read == [0]
    monkeypatch.undo()
    swept = await harness.lapse()
    assert len(swept.returned) == 39


async def test_a_count_of_dead_letters_does_not_fetch_their_bytes(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await harness.leased(harness.stranger(), body="x" * 40_000)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    answers: list[Any] = []
    real = harness._store.rows.scan

    async def scan(*words: Any, **more: Any) -> Any:
        answers.extend(await real(*words, **more))
        return answers

    monkeypatch.setattr(harness._store.rows, "scan", scan)
    assert (await harness.depth()).dead == 1
    assert ["Envelope" in row.fields for row in answers] == [False]


async def test_one_of_all_workers_prunes(harness: ProxiedHarness) -> None:
    broker, state = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    await harness.state.journal.append(_events(harness, 3))
    await harness.advance(100.0, sweeping=False)
    assert await harness.state.journal.prune(50.0) == 3
    calls = broker._store.clients.calls  # type: ignore[attr-defined]
    before = calls["table"]
    assert await state.journal.prune(50.0) == 0
    assert calls["table"] - before == 1
    await broker.close()


async def test_who_was_retired_is_kept_for_a_while_and_then_forgotten(harness: ProxiedHarness) -> None:
    day, rows = 86_400.0, harness._store.rows
    for boots, days in ((3, 1.0), (2, 6.5)):
        for _ in range(boots):
            await harness.broker.retire((await harness.owner()).id, crashed=False)
        await harness.advance(days * day, sweeping=False)
    assert len(await rows.scan(COMMON, "b:")) == 5
    await harness.state.journal.prune(day)
    assert len(await rows.scan(COMMON, "b:")) == 2  # seven days and a half ago; six days and a half ago
    latest = (await harness.owner()).id
    await harness.broker.retire(latest, crashed=False)
    await harness.advance(2 * day, sweeping=False)
    await harness.state.journal.prune(day)
    assert len(await rows.scan(COMMON, "b:")) == 1
    with pytest.raises(OwnerRetired):
        await harness.broker.lease(harness.request(latest, 1))


async def test_an_account_that_forgets_soon_knows_for_a_day_who_was_retired(harness: ProxiedHarness) -> None:
    options = msgspec.structs.replace(harness._options, keep_seconds=60.0)
    broker, state = azure.connect(options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    gone = (await harness.owner()).id
    await broker.retire(gone, crashed=False)
    await harness.advance(3600.0, sweeping=False)
    await state.journal.prune(60.0)
    with pytest.raises(OwnerRetired):
        await broker.lease(harness.request(gone, 1))
    await broker.close()


async def test_an_account_that_forgets_soon_keeps_a_claim_that_runs_for_longer(harness: ProxiedHarness) -> None:
    options = msgspec.structs.replace(harness._options, keep_seconds=60.0)
    broker, state = azure.connect(options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    requests = [ClaimRequest(Scope(QUEUE, "t", "key:k"), "one", harness.stranger(), 7200.0, "d") for _ in range(2)]
    await state.ledger.claim(requests[:1])
    await harness.advance(3600.0, sweeping=False)
    await state.journal.prune(60.0)
    (answer,) = await state.ledger.claim(requests[1:])
    assert isinstance(answer, Running)
    await broker.close()


async def test_what_is_returned_to_queues_that_nobody_here_serves_is_not_remembered_for_ever(
    harness: ProxiedHarness,
) -> None:
    returned = harness._store.shared.returned[QUEUE]
    returned.extend(str(number) for number in range(5000))
    assert len(returned) <= 1000


async def test_delays_of_many_messages_need_few_timers(harness: ProxiedHarness) -> None:
    for number in range(500):
        harness._store.stir(QUEUE, 3600.0 + number / 250)
    assert len(harness._store._timers) <= 4


# --- clocks ---------------------------------------------------------------------------------------------


class _Skewed(SystemClock):
    """A machine whose clock is wrong."""

    def __init__(self, by: float) -> None:
        self._by = by

    def wall(self) -> float:
        return super().wall() + self._by


@pytest.mark.real_time
async def test_machines_whose_clocks_disagree_agree_on_deadlines_and_take_nothing_from_each_other() -> None:
    url = shared_azure().url(f"t{os.urandom(6).hex()}")
    options = azure.read_options(url, urlsplit(url), {})
    sides = [azure.connect(options, clock=_Skewed(by)) for by in (0.0, 30.0, -30.0, 8 * 86_400.0)]
    for broker, _ in sides:
        await broker.open()
    (here, _), (early, _), (late, _), (far, state) = sides
    sweep = SweepRequest(limit=10, interval_seconds=600.0, max_attempts=3, lease_seconds=20.0)
    await here.sweep(sweep)
    message = Message(id="m1", queue=QUEUE, task="t", body=msgspec.Raw(b"{}"), sent_at=1.0)
    await here.send([Outgoing(message)])
    (lease,) = await early.lease(LeaseRequest("one", "r", (QUEUE,), 1, 20.0, {}))
    for broker in (here, late, far):
        assert (await broker.sweep(sweep)).returned == ()
    nows = [broker._store.timeline.now() for broker, _ in sides]  # type: ignore[attr-defined]
    assert max(nows) - min(nows) < 1.5
    assert [one.id for one in await late.held("one")] == ["m1"]
    event = Event(EventKind.COMPLETED, SystemClock().wall())
    await sides[0][1].journal.append([event])
    assert await state.journal.prune(86_400.0) == 0  # it is a moment old, whatever that machine thinks
    assert [one.outcome for one in await early.ack([Ack(lease, b"1")])] == [Outcome.DELETED]
    for broker, _ in sides:
        await broker.close()


# --- what goes wrong ------------------------------------------------------------------------------------


async def test_a_name_that_no_field_takes_is_refused_and_spares_the_others(harness: ProxiedHarness) -> None:
    good = [harness.message(), harness.message()]
    bad = [harness.message(id="i" * 5000), harness.message(key="k" * 5000), harness.message(task="t" * 5000)]
    told = await harness.broker.send([Outgoing(one) for one in (good[0], *bad, good[1])])
    assert (told[0], told[-1]) == (Sent(good[0].id), Sent(good[1].id))
    assert [one.refusal.code for one in told if one.refusal is not None] == ["name_too_long"] * 3
    assert len(await harness.lease_all(harness.stranger())) == 2


async def test_a_queue_that_somebody_removed_ends_no_settlement_with_an_error(harness: ProxiedHarness) -> None:
    options = msgspec.structs.replace(harness._options, create=False)
    await harness.put_many(2)
    broker, _ = azure.connect(options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    leases = await broker.lease(harness.request(harness.stranger(), 2))
    store = harness._store
    await store.call("removing", store.queue(QUEUE).delete_queue)
    (done,) = await broker.ack([Ack(leases[0], b"1")])
    (back,) = await broker.give_back([GiveBack(leases[1])])
    assert (done.outcome, back.outcome) == (Outcome.ALREADY_GONE, Outcome.RETURNED)
    await broker.close()


async def test_what_is_being_deleted_is_asked_again_later(harness: ProxiedHarness) -> None:
    queue = harness.queue
    queue.rule(lambda _call: True, queue.answer(409, b"", **{"x-ms-error-code": "QueueBeingDeleted"}), times=1)
    with pytest.raises(BrokerUnavailable) as caught:
        await harness.lease(harness.stranger())
    assert not caught.value.outcome_unknown


async def test_pruning_reads_no_further_than_the_first_young_event(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has an index of keys alone: to ask for old events by their time reads all of them."""
    rows, read = harness._store.rows, list[str]()
    between = rows.between

    async def noted(part: str, *given: Any, **named: Any) -> AsyncIterator[Row]:
        async for row in between(part, *given, **named):
            if part == "j":
                read.append(row.key)
            yield row

    monkeypatch.setattr(rows, "between", noted)
    await harness.state.journal.append(_events(harness, 5))
    await harness.advance(100.0, sweeping=False)
    await harness.state.journal.append(_events(harness, 60))
    assert await harness.state.journal.prune(50.0) == 5
    assert len(read) == 1 + 6
    del read[:]
    assert await harness.state.journal.prune(50.0) == 0
    assert len(read) == 1
