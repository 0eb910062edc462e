"""The worker suites bite: each deliberate fault in the runtime fails the suite that is there for it."""

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest

from tenure.adapters.memory.broker import MemoryBroker
from tenure.blobs import name_of
from tenure.client.claim_check import ClaimCheck, is_over
from tenure.client.client import Client
from tenure.client.operations import resend, schedules
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.foreign import Router
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState
from tenure.rules import lapse
from tenure.rules.fair_turns import FairTurns
from tenure.rules.send_id import send_id
from tenure.runtime import delivery, verdicts
from tenure.runtime.background import background, blob_gc, heartbeat, held_lease, scheduler
from tenure.runtime.background.board_watch import BoardWatch
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.background.scheduler import Scheduler
from tenure.runtime.background.suspension import Suspension
from tenure.runtime.background.sweeper import Sweeper
from tenure.runtime.background.worker_reports import WorkerReports
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership import Concluded, Owned, Settled, hand_offs, routing, settler, taker
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.ownership.settler import Settler
from tenure.runtime.ownership.taker import Taker
from tenure.runtime.path import context_link, events, handling, intake, unknown_tasks
from tenure.runtime.path.cancels import Cancels
from tenure.runtime.path.context_link import ContextServices
from tenure.runtime.path.handling import Handling
from tenure.runtime.path.holding import Holding
from tenure.runtime.path.intake import Intake
from tenure.runtime.path.outbox import Outbox
from tenure.runtime.path.quota import Quotas
from tenure.runtime.path.slots import Slots
from tenure.runtime.stopping import let_finish
from tenure.runtime.worker import Worker
from tenure.settlement import Outcome, Settlement
from tenure.tasks import kept_payload
from tenure.testing.conformance import run_suites
from tenure.testing.conformance.worker import WORKER_SUITES
from tenure.testing.faulty import HonestState
from tenure.verdict import Completed, Dead, Reason, Retried, Returned

from .harnesses import LooseMemoryHarness, MemoryHarness

Patch = Callable[[pytest.MonkeyPatch], None]


class Fault(NamedTuple):
    """Something that a worker does wrong, and the suite that must say so."""

    patch: Patch
    caught_by: str
    harness: type[MemoryHarness] = MemoryHarness


def _does_nothing(*_: Any) -> None: ...


async def _does_nothing_async(*_: Any) -> None: ...


def _raise(error: Exception) -> None:
    raise error


def _replace(where: object, name: str, value: object) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(where, name, value)


class _Nothing(Exception):
    """Never raised."""


def _own_send_id(delivery: Delivery) -> str:
    message = delivery.message
    return "" if message is None else send_id(message.id, message.sent_at)


class _Anyone(str):
    """A name that is everybody's."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, _: object) -> bool:
        return True


def _the_name_of_anyone(_: str) -> str:
    return _Anyone()


_NO_POSTS = SimpleNamespace(PAUSED_SCHEDULE=None)


def _another_id(old: Message, **_: Any) -> str:
    return f"{old.id[:12]}{os.urandom(10).hex()}"


# --- faults that take more than a line ------------------------------------------------------------------


def _settles_before_it_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    seal, settle = Settler._seal, Settler._settle

    async def later(_self: Settler, batch: Any) -> Any:
        return batch

    async def first(self: Settler, batch: Any, found: Any) -> None:
        await settle(self, batch, found)
        await seal(self, batch)

    monkeypatch.setattr(Settler, "_seal", later)
    monkeypatch.setattr(Settler, "_settle", first)


def _deletes_before_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    replace = resend._replace

    async def first(access: Any, old: Message, new: Message, kind: EventKind) -> str:
        await access.operator().replace(old.id, old.queue, kind, new_id=new.id, to=new.queue)
        return await replace(access, old, new, kind)

    monkeypatch.setattr(resend, "_replace", first)


def _leases_on_while_it_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drain(self: Worker) -> None:
        await let_finish(self._path.handling, self._stop_asked, None)
        self._begin_to_end()

    monkeypatch.setattr(Worker, "_drain", drain)


def _ends_what_runs_when_it_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drain(self: Worker) -> None:
        self._begin_to_end()

    monkeypatch.setattr(Worker, "_drain", drain)


def _leases_without_presence(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(*fields: Any, **more: Any) -> LeaseRequest:
        return LeaseRequest(*fields, **{**more, "has_presence": False})

    monkeypatch.setattr(intake, "LeaseRequest", request)


def _drops_verdicts_in_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Settler.settle

    async def try_once(self: Settler, batch: Sequence[Concluded[Any]]) -> Settled[Any]:
        settled = await settle(self, batch)
        return Settled(dict(settled.settlements) | {one.owned: None for one in settled.open}, [])

    monkeypatch.setattr(Settler, "settle", try_once)


def _lets_leases_lapse_while_it_cannot_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Heartbeat.hold

    def forget(self: Heartbeat, deliveries: Any, leases: Any = None, **more: Any) -> None:
        if leases is None:  # else it was held before
            hold(self, deliveries, **more)

    monkeypatch.setattr(Heartbeat, "hold", forget)


def _renews_no_claim_while_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    renew = Heartbeat._renew_claims

    async def touch_first(self: Heartbeat, beats: Any) -> Any:
        try:
            await self._broker.touch([beat.lease for beat, _ in beats])
        except BrokerUnavailable as error:
            return {}, error
        return await renew(self, beats)

    monkeypatch.setattr(Heartbeat, "_renew_claims", touch_first)


def _calls_a_stop_a_failed_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Handling.end

    def counted(self: Handling, one: Delivery, verdict: Any) -> None:
        end(self, one, Retried(0.0, Reason("x", "x")) if isinstance(verdict, Returned) else verdict)

    monkeypatch.setattr(Handling, "end", counted)


def _runs_what_the_ledger_calls_done(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> dict[Any, Any]:
        return {}

    monkeypatch.setattr(Taker, "_claim", nothing)


def _keeps_every_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    def each(settled: Sequence[tuple[Delivery, Settlement | None]], *, owner: str, at: float) -> list[Event]:
        return [events.event_of(*one, owner=owner, at=at) for one in settled]

    monkeypatch.setattr(events, "events_of", each)
    monkeypatch.setattr(events, "_payload", lambda one: kept_payload.fields_of(bytes(one.message.body)))


def _forgets_what_a_lost_reply_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(self: Intake, _request: object) -> list[Lease]:
        self._unanswered = None
        return []

    monkeypatch.setattr(Intake, "_look_after", nothing)


def _hands_on_though_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    next_one = Delivery.next_hand_off
    kept: dict[str, list[Any]] = {}

    def keep(self: Delivery, *args: Any, **keywords: Any) -> Any:
        self.handoffs = kept.setdefault(self.id, [])  # those of earlier runs go out too
        return next_one(self, *args, **keywords)

    monkeypatch.setattr(Delivery, "next_hand_off", keep)


def _leases_for_all_slots_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Slots.room

    async def all_of_them(self: Slots) -> int:
        await room(self)
        return self.total

    monkeypatch.setattr(Slots, "room", all_of_them)


def _completes_what_it_was_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def hurried(self: Worker) -> None:
        handling = self._path.handling
        for one in list(handling.running):
            handling.end(one, Completed(b"null"))
        self._stop_asked.set()

    monkeypatch.setattr(Worker, "ask_to_stop", hurried)


def _deletes_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    put = Outbox.put

    def completed(self: Outbox, one: Delivery, verdict: Any) -> None:
        put(self, one, Completed(b"null") if isinstance(verdict, Retried) else verdict)

    monkeypatch.setattr(Outbox, "put", completed)


def _discards_the_body_of_whatever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = BlobFetch.settled

    def all_of_them(self: BlobFetch, pairs: Sequence[Any]) -> None:
        settled(self, [(one, Settlement(Outcome.DELETED)) for one, _ in pairs])

    monkeypatch.setattr(BlobFetch, "settled", all_of_them)


def _runs_whatever_lies_in_the_blob_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unchecked(self: ClaimCheck, message: Any) -> Any:
        (body,) = await self.blob_store.fetch([name_of(message, message.ticket.digest)])
        return msgspec.structs.replace(message, body=msgspec.Raw(body or b"{}"), ticket=None)

    monkeypatch.setattr(ClaimCheck, "fetch", unchecked)


def _sends_before_the_body_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check_in(self: ClaimCheck, batch: Sequence[Any], limit: int) -> list[Any]:
        return [
            msgspec.structs.replace(one, message=self.ticketed(one.message)) if is_over(one.message, limit) else one
            for one in batch
        ]

    monkeypatch.setattr(ClaimCheck, "check_in", check_in)


def _by_its_own_wall_clock(part: type[Any]) -> Patch:
    """That part takes the clock that it was given for the store's."""
    begin = part.__init__

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def init(self: Any, *given: Any, **more: Any) -> None:
            clock = next(one for one in given if hasattr(one, "boot_id"))
            begin(self, *given, **more | {"wall": clock.wall})

        monkeypatch.setattr(part, "__init__", init)

    return patch


def _sends_by_its_own_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Client.__init__

    def init(self: Client, broker: Any, state: Any, clock: Any, **more: Any) -> None:
        begin(self, broker, HonestState(state, SimpleNamespace()), clock, **more)
        monkeypatch.setattr(self.state, "_wall", clock.wall)

    monkeypatch.setattr(Client, "__init__", init)


def _asks_about_claims_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Owned.__init__

    def init(self: Owned, lease: Any, message: Any = None, *more: Any, token: Any = None, **others: Any) -> None:
        begin(self, lease, message, *more, **others)

    monkeypatch.setattr(Owned, "__init__", init)


def _fetches_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlobFetch, "bring", _does_nothing_async)


FAULTS = {
    "takes what the ledger calls done": Fault(_runs_what_the_ledger_calls_done, "Owning"),
    "gives up without a seal first": Fault(_settles_before_it_seals, "Owning"),
    "forgets what an outage left open": Fault(_drops_verdicts_in_an_outage, "Owning"),
    "asks about a claim that came with its lease": Fault(_asks_about_claims_that_it_has, "Owning"),
    "takes the second answer for the first": Fault(
        _replace(settler, "_ended", lambda _one, settlement: settlement), "Owning"
    ),
    "fetches no body": Fault(_fetches_no_body, "Owning"),
    "settles together what cannot be": Fault(
        _replace(Settler, "_spoiled", lambda _self, _left, error, _found: _raise(error)), "Owning"
    ),
    "settles before it seals": Fault(_settles_before_it_seals, "CrashPoints", LooseMemoryHarness),
    "drops verdicts in an outage": Fault(_drops_verdicts_in_an_outage, "Outages"),
    "lets leases lapse while it cannot settle": Fault(
        _lets_leases_lapse_while_it_cannot_settle, "Outages", LooseMemoryHarness
    ),
    "renews no claim while the broker is away": Fault(
        _renews_no_claim_while_the_broker_is_away, "Outages", LooseMemoryHarness
    ),
    "fails a run whose checkpoint meets an outage": Fault(
        _replace(context_link, "BrokerUnavailable", _Nothing), "ContextOutages"
    ),
    "forgets what a lost reply lent": Fault(_forgets_what_a_lost_reply_lent, "Outages"),
    "keeps no payload": Fault(_replace(events, "_payload", lambda _delivery: {}), "KeepingPayloads"),
    "keeps every payload": Fault(_keeps_every_payload, "KeepingPayloads"),
    "keeps payloads of any size": Fault(_replace(kept_payload, "KEPT_BYTES", 10**9), "KeepingPayloads"),
    "does not beat": Fault(_replace(held_lease, "beat_interval", lambda _seconds: 1e9), "Holding"),
    "beats too much": Fault(_replace(held_lease, "beat_interval", lambda _seconds: 1.0), "Completing"),
    "ignores lost leases": Fault(_replace(Holding, "on_lost", _does_nothing), "Holding"),
    "does not look for the dead": Fault(_replace(Sweeper, "bury", _does_nothing_async), "Holding"),
    "ignores max_hold": Fault(_replace(heartbeat, "max_hold", lambda _delivery: float("inf")), "Failing"),
    "never gives up": Fault(
        _replace(verdicts, "judge_failure", lambda reason, *_args, **_more: Retried(1.0, reason)), "Failing"
    ),
    "deletes what failed": Fault(_deletes_what_failed, "Failing"),
    "never counts a snooze": Fault(_replace(handling, "snoozes_in", lambda _history: 0), "Snoozing"),
    "counts a snooze as an attempt": Fault(
        _replace(handling, "judge_snooze", lambda asked, *_: Retried(asked.after_seconds, asked.reason)),
        "Snoozing",
    ),
    "puts unknown tasks aside at once": Fault(_replace(unknown_tasks, "GIVE_UP_SECONDS", 0.0), "Failing"),
    "puts aside what another worker knows": Fault(
        _replace(unknown_tasks.UnknownTasks, "_is_known_elsewhere", _does_nothing_async), "Failing"
    ),
    "asks no route": Fault(_replace(Router, "knows", lambda *_: False), "Routing"),
    "puts aside what its route once failed at": Fault(
        _replace(routing, "judge_error", lambda error, *_: Dead(Reason("error", str(error)))), "Routing"
    ),
    "calls a stop a failed attempt": Fault(_calls_a_stop_a_failed_attempt, "Stopping"),
    "completes what it was told to stop": Fault(_completes_what_it_was_told_to_stop, "Stopping"),
    "serves several clients in turn, whatever they cost": Fault(_replace(FairTurns, "serve", _does_nothing), "Sharing"),
    "does not count how long messages take": Fault(_replace(FairTurns, "ended", _does_nothing), "Sharing"),
    "leases on while it is drained": Fault(_leases_on_while_it_is_drained, "Leaving"),
    "ends what runs when it is drained": Fault(_ends_what_runs_when_it_is_drained, "Leaving"),
    "leaves when another is asked to": Fault(_replace(background, "name_of", _the_name_of_anyone), "Leaving"),
    "writes no report": Fault(_replace(WorkerReports, "run", _does_nothing_async), "Leaving"),
    "runs what the ledger calls done": Fault(_runs_what_the_ledger_calls_done, "WorkerKeys", LooseMemoryHarness),
    "claims nothing, in a storm": Fault(_runs_what_the_ledger_calls_done, "Storms", LooseMemoryHarness),
    "leases for all slots at once": Fault(_leases_for_all_slots_at_once, "Completing"),
    "hands on under a new id each time": Fault(
        _replace(delivery, "derived_id", lambda *_: os.urandom(16).hex()), "Contexts"
    ),
    "hands on what failed runs handed on": Fault(_hands_on_though_it_failed, "Contexts"),
    "does not read the board": Fault(_replace(BoardWatch, "take", _does_nothing), "Operating"),
    "does not look which leases were cancelled": Fault(_replace(Heartbeat, "check_now", _does_nothing), "Operating"),
    "takes a cancel for a lost lease": Fault(_replace(Cancels, "look", _does_nothing_async), "Operating"),
    "ignores the limit of a task": Fault(_replace(Quotas, "enter", lambda *_: True), "Operating"),
    "discards the body of a dead letter": Fault(_discards_the_body_of_whatever_ends, "ClaimChecks"),
    "discards no body": Fault(_replace(BlobFetch, "settled", _does_nothing), "ClaimChecks"),
    "runs whatever lies in the blob store": Fault(_runs_whatever_lies_in_the_blob_store, "ClaimChecks"),
    "sends a ticket for a body that was not left": Fault(_sends_before_the_body_is_left, "ClaimChecks"),
    "tidies by age": Fault(_replace(blob_gc, "_FINISHED", tuple(MessageState)), "ClaimChecks"),
    "leaves what the dead left": Fault(
        _replace(blob_gc.BlobCollector, "look", _does_nothing_async), "ClaimCheckCrashes"
    ),
    "sends ticks by its own wall clock": Fault(_by_its_own_wall_clock(Scheduler), "Timekeeping"),
    "sends ticks of a paused schedule": Fault(_replace(scheduler, "PostKind", _NO_POSTS), "Operating"),
    "makes up for the ticks of a pause": Fault(
        _replace(schedules, "_skip_until_now", _does_nothing_async), "Operating"
    ),
    "deletes a dead letter before its copy is sent": Fault(_deletes_before_it_sends, "Moving"),
    "sends another copy at every try": Fault(_replace(resend, "derived_id", _another_id), "Moving"),
    "forgets the payload of an edit": Fault(_replace(resend, "_encoded", lambda *_: None), "Moving"),
    "lets messages expire by its own wall clock": Fault(_by_its_own_wall_clock(Taker), "Timekeeping"),
    "hands on by its own wall clock": Fault(_by_its_own_wall_clock(ContextServices), "Timekeeping"),
    "sends by its own wall clock": Fault(_sends_by_its_own_wall_clock, "Timekeeping"),
    "sleeps on when its machine wakes": Fault(_replace(Suspension, "run", _does_nothing_async), "Timekeeping"),
    "runs suspects among the others": Fault(_replace(lapse, "CRASHES_BEFORE_ALONE", 99), "Suspects"),
    "runs what was lost often among the others": Fault(_replace(lapse, "LOSSES_BEFORE_ALONE", 99), "Suspects"),
    "gives up what was lost before it ran alone": Fault(
        _replace(taker, "is_lost_too_often", lambda counters, **_: counters.lost >= lapse.MAX_LOST), "Suspects"
    ),
    "never gives up what is lost": Fault(_replace(lapse, "MAX_LOST", 10**9), "Holding"),
    "never says that it has presence": Fault(_leases_without_presence, "Holding"),
    "dead-letters a parent that is done": Fault(
        _replace(settler, "_is_done", lambda _one: False), "HandingOn", LooseMemoryHarness
    ),
    "drops what is refused after the seal": Fault(
        _replace(MemoryBroker, "put_aside", _does_nothing_async), "HandingOn", LooseMemoryHarness
    ),
    "takes a missing queue for an outage": Fault(
        _replace(hand_offs, "QueueGone", _Nothing), "HandingOn", LooseMemoryHarness
    ),
    "hands on whatever send would say": Fault(_replace(context_link, "refusal", lambda *_: None), "HandingOn"),
    "names no send": Fault(_replace(Delivery, "send_id", ""), "Effects"),
    "takes every message of a key for a send": Fault(
        _replace(Delivery, "send_id", property(_own_send_id)), "Effects", LooseMemoryHarness
    ),
}


@pytest.mark.parametrize("name", FAULTS, ids=lambda name: name.replace(" ", "-"))
def test_the_suites_catch_a_worker_that(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the suite that is there for it."""
    fault = FAULTS[name]
    fault.patch(monkeypatch)
    suites = [suite for suite in WORKER_SUITES if suite.__name__ == fault.caught_by]
    assert suites
    assert run_suites(suites, fault.harness, stop_at_first=True), f"{fault.caught_by} did not catch it"


def test_a_worker_without_faults_passes_every_suite() -> None:
    """So what is caught above is the fault; the other shapes are tested in `test_worker_memory.py`."""
    failures = run_suites(WORKER_SUITES, LooseMemoryHarness)
    assert not failures, "\n".join(str(failure) for failure in failures)


def test_there_is_a_fault_for_every_suite() -> None:
    """A suite that no fault was made for is not known to bite; `Repeating` is about the ledger."""
    assert {suite.__name__ for suite in WORKER_SUITES} - {fault.caught_by for fault in FAULTS.values()} == {"Repeating"}
