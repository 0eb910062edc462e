"""Any sequence of calls, by several owners with leases kept beyond their time, compared with a plain model.

Hypothesis makes the sequences. After each call every message must be where the model has it, with the same
counters and the same holder; fences only rise; and what a stale holder says changes nothing.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tenure.broker import Broker, Sent
from tenure.envelope import decode
from tenure.errors import OwnerRetired
from tenure.lease import Lease, LeaseState
from tenure.message import Message, MessageState
from tenure.owner import Owner
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.faulty import Fault, HonestBroker, cancelling, lending, returning, sending, settling, touching
from tenure.testing.harness import BROKEN, QUEUE, Harness
from tenure.testing.virtual import VirtualLoop

from .harnesses import LooseMemoryHarness, MemoryHarness, SqliteHarness
from .model import CANCELLED, COMPLETED, DEAD, DELAYED, LEASED, READY, Entry, Model
from .redis_harness import OldRedisHarness, RedisHarness

T = TypeVar("T")

OWNERS = 3
#: Few messages, so that each has a long life.
CROWD = 6
picks = st.integers(min_value=0, max_value=1000)
delays = st.sampled_from([0.0, 0.0, 5.0, 20.0])
leases = st.sampled_from([10.0, 30.0])
WAYS = ["ack", "nack", "give_back", "dead_letter"]
ways = st.sampled_from(WAYS)


class BrokerMachine(RuleBasedStateMachine):
    """One broker and its model, moved by the same rules."""

    def __init__(self) -> None:
        """A fresh store on a loop of its own."""
        super().__init__()
        self.harness = self.make_harness()
        self.runner = asyncio.Runner(loop_factory=lambda: VirtualLoop(self.harness.clock))
        self.messages: dict[str, Message] = {}
        self.leases: list[Lease] = []
        self.owners: list[Owner] = []
        self.retired: list[Owner] = []
        self.run(self.harness.__aenter__())
        # Two connections, used in turns.
        self.brokers = itertools.cycle([self.harness.broker, self.run(self.harness.second())])
        self.model = Model(self.harness.max_attempts, self.harness.sweep_interval_seconds)

    def make_harness(self) -> Harness:
        """What is under test; said by `_machine`."""
        raise NotImplementedError

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        """Let the loop do it."""
        return self.runner.run(act)

    @property
    def broker(self) -> Broker:
        """One of the connections."""
        return next(self.brokers)

    @property
    def now(self) -> float:
        """Virtual seconds."""
        return self.harness.clock.monotonic()

    def lease_at(self, pick: int, *, held: bool) -> Lease:
        """One of the latest leases that still count, or that no longer do."""
        chosen = [one for one in self.leases if held == self.model.entries[one.id].is_held_under(one)] or self.leases
        return chosen[-1 - pick % min(len(chosen), 6)]

    def ids_at(self, chosen: list[int]) -> list[str]:
        """Any messages."""
        ids = sorted(self.messages)
        return list(dict.fromkeys(ids[pick % len(ids)] for pick in chosen))

    @initialize()
    def begin(self) -> None:
        """Two workers with presence and one holder without; some work, some of it lent."""
        for number in range(OWNERS):
            self.owners.append(self.boot(f"owner-{number}", present=number < OWNERS - 1))
        self.send(5, 5, 0.0)
        for pick in range(OWNERS):
            self.lease(pick, 1, 30.0)

    def boot(self, name: str, *, present: bool) -> Owner:
        """A new boot of an owner."""
        if not present:
            return self.harness.new_owner(name)
        owner = self.run(self.harness.owner(name))
        self.model.present.add(owner.id)
        return owner

    # --- rules: few, so that each comes up often ----------------------------------------------------------

    @precondition(lambda self: self.model.unfinished() < CROWD)
    @rule(count=st.integers(1, 3), priority=st.sampled_from([1, 5, 9]), delay=delays)
    def send(self, count: int, priority: int, delay: float) -> None:
        """New messages, one of them twice, and a known one, whatever became of it."""
        batch = [self.harness.message(priority=priority) for _ in range(count)]
        known = list(self.messages.values())[-1:]
        sent = self.run(self.harness.send(*batch, batch[0], *known, delay_seconds=delay))
        repeated = [Sent(one.id, duplicate=True) for one in [batch[0], *known]]
        assert sent == [Sent(one.id) for one in batch] + repeated
        for message in batch:
            self.messages[message.id] = message
            self.model.entries[message.id] = Entry(DELAYED if delay else READY, due=self.now + delay)

    @rule(pick=picks, want=st.integers(1, 5), seconds=leases)
    def lease(self, pick: int, want: int, seconds: float) -> None:
        """Somebody asks for work."""
        owner = self.owners[pick % OWNERS]
        leasable = self.model.leasable(self.now)
        is_present = owner.id in self.model.present
        lent = self.run(self.broker.lease(self.harness.request(owner, want, seconds=seconds, has_presence=is_present)))
        assert len(lent) == min(want, len(leasable))
        assert {one.id for one in lent} <= leasable
        for lease in lent:
            assert lease.fence > self.model.highest_fence, "the fence did not rise"
            assert decode(lease.envelope).generation == self.model.entries[lease.id].generation
            self.model.lent(lease, self.now, seconds)
            assert lease.counters == self.model.entries[lease.id].counters
        self.model.highest_fence = max([one.fence for one in lent], default=self.model.highest_fence)
        self.leases += lent

    @rule(pick=picks, held=st.booleans(), shorter=st.booleans())
    def touch(self, pick: int, held: bool, shorter: bool) -> None:
        """Whoever holds it, or held it once; perhaps for less time than it asked for at first."""
        lease = self.lease_at(pick, held=held)
        seconds = lease.seconds / 2 if shorter else lease.seconds
        entry = self.model.entries[lease.id]
        holds = entry.is_held_under(lease)
        (touched,) = self.run(self.broker.touch([msgspec.structs.replace(lease, seconds=seconds)]))
        assert touched.state == (LeaseState.HELD if holds else LeaseState.LOST)
        if holds:
            entry.deadline, entry.graced = max(entry.deadline, self.now + seconds), False

    @rule(how=ways, pick=picks, held=st.booleans(), delay=delays)
    def settle(self, how: str, pick: int, held: bool, delay: float) -> None:
        """The holder settles, or one that was the holder once."""
        self.bring_back(how, self.lease_at(pick, held=held), delay)

    def bring_back(self, how: str, lease: Lease, delay: float) -> None:
        """Compare what a holder is told, and what comes of it."""
        stale = self.model.stale(lease)
        settlements, outcome = self.run(self._settle(how, lease, delay))
        assert [one.outcome for one in settlements] == [stale or outcome]
        if stale is None:
            self.model.settled(how, self.model.entries[lease.id], self.now, delay)

    async def _settle(self, how: str, lease: Lease, delay: float) -> tuple[list[Settlement], Outcome]:
        match how:
            case "ack":
                return await self.broker.ack([Ack(lease, b"1")]), Outcome.DELETED
            case "nack":
                return await self.broker.nack([Nack(lease, delay, BROKEN)]), Outcome.RETURNED
            case "give_back":
                return await self.broker.give_back([GiveBack(lease, delay)]), Outcome.RETURNED
            case _:
                return await self.broker.dead_letter([DeadLetter(lease, BROKEN, counted=True)]), Outcome.DEAD

    @rule(chosen=st.lists(picks, min_size=1, max_size=3), verb=st.sampled_from(["redrive", "delete", "cancel"]))
    def operate(self, chosen: list[int], verb: str) -> None:
        """Only the dead are redriven; only what nobody holds is deleted; whatever is on its way is cancelled."""
        ids = self.ids_at(chosen)
        match verb:
            case "redrive":
                self.redrive(ids)
            case "delete":
                assert self.run(self.broker.delete(ids[:1])) == [id for id in ids[:1] if self.model.delete(id)]
            case _:
                # One of them held, if any is; and its holder does not know yet.
                lease = self.lease_at(chosen[0], held=True)
                self.cancel(list(dict.fromkeys([lease.id, *ids[:1]])))
                self.bring_back(WAYS[chosen[-1] % len(WAYS)], lease, 0.0)

    def cancel(self, ids: list[str]) -> None:
        """Each twice, as after a lost reply. A due message may or may not have been promoted yet."""
        due = [self.model.entries[id].is_due(self.now) for id in ids]
        expected = [self.model.cancel(id) for id in ids]
        answers = self.run(self.broker.cancel([*ids, *ids]))
        met, again = answers[: len(ids)], answers[len(ids) :]
        for told, state, was_due in zip(met, expected, due, strict=True):
            assert told == state or (was_due and told == READY)
        assert again == [None] * len(ids)

    def redrive(self, ids: list[str]) -> None:
        """The dead alone."""
        entries = self.model.entries
        dead = [id for id in ids if entries[id].state == DEAD]
        assert self.run(self.broker.redrive(ids)) == dead
        for id in dead:
            endings = [*entries[id].endings, "redriven"]
            entries[id] = Entry(READY, generation=entries[id].generation + 1, endings=endings)

    @rule(steps=st.integers(0, 7), gap=st.sampled_from([0.5, 9.0, 12.0, 25.0]), limit=st.sampled_from([1, 100]))
    def live_on(self, steps: int, gap: float, limit: int) -> None:
        """Time passes: with a sweep every so often, and then a while without."""
        for _ in range(steps):
            self.run(asyncio.sleep(self.harness.sweep_interval_seconds))
            self.sweep(limit)
        self.run(asyncio.sleep(gap))

    def sweep(self, limit: int) -> None:
        """Compare what a sweep moves."""
        grace, returned, dead = self.model.sweep(self.now, limit)
        swept = self.run(self.broker.sweep(self.harness.sweep_request(limit=limit)))
        assert (set(swept.returned), set(swept.dead)) == (set(returned), set(dead))
        if any(one.state == LEASED for one in self.model.entries.values()):
            assert swept.grace == grace

    @rule(pick=picks, crashed=st.booleans())
    def retire(self, pick: int, crashed: bool) -> None:
        """An owner is gone and gets nothing more; its next boot takes its place."""
        place = pick % OWNERS
        owner = self.owners[place]
        was_present = owner.id in self.model.present
        swept = self.run(self.broker.retire(owner.id, crashed=crashed))
        assert set(swept.returned) == self.model.retire(owner.id, self.now, crashed=crashed)
        assert not self.run(self._gets_anything(owner)), "a retired owner got a lease"
        self.retired.append(owner)
        self.owners[place] = self.boot(owner.name, present=was_present)

    async def _gets_anything(self, owner: Owner) -> bool:
        try:
            await self.broker.lease(self.harness.request(owner, 5))
        except OwnerRetired:
            return False
        return True

    # --- what must hold ---------------------------------------------------------------------------------

    @invariant()
    def every_message_is_where_the_model_has_it(self) -> None:
        """With the same counters, holder and history."""
        self.run(self._compare_records())

    async def _compare_records(self) -> None:
        for id, entry in self.model.entries.items():
            record = await self.harness.state.records.get(id)
            if record is None:
                assert entry.state == COMPLETED, f"{id} is lost; it was {entry.state}"
                assert not self.harness.traits.settles_exactly_once
                continue
            # A due message may or may not have been promoted yet.
            assert record.state == entry.state or (entry.is_due(self.now) and record.state == READY)
            assert (record.owner, record.fence) == (entry.owner, entry.fence)
            assert record.counters == entry.counters
            if entry.state == LEASED:
                assert _near(record.deadline_in, entry.deadline - self.now)
            if record.state == DELAYED:
                assert _near(record.due_in, entry.due - self.now)
            assert [ending.how for ending in record.history] == _bounded(entry.endings)

    @invariant()
    def every_message_is_in_one_state(self) -> None:
        """Found once by browsing, and counted once."""
        self.run(self._compare_browsing())

    async def _compare_browsing(self) -> None:
        found: dict[str, MessageState] = {}
        for state in (READY, DELAYED, LEASED, DEAD):
            browsed = await self.harness.browse(QUEUE, state, limit=1000)
            assert not found.keys() & {one.id for one in browsed}, "a message is in two states"
            found |= {one.id: state for one in browsed}
        there = {id for id, one in self.model.entries.items() if one.state not in {COMPLETED, CANCELLED}}
        assert found.keys() == there
        depth = await self.harness.depth()
        counted = msgspec.structs.asdict(depth)
        for state in (READY, DELAYED, LEASED, DEAD):
            assert counted[state] == list(found.values()).count(state)
        held = (await self.harness.broker.leases()).leases
        assert {one.id for one in held} == {id for id, state in found.items() if state is LEASED}
        assert all([await self.harness.broker.find(one.id, one.owner, one.fence, QUEUE) for one in held])
        assert QUEUE in await self.harness.broker.queues() or not found

    @invariant()
    def every_cancelled_lease_is_counted(self) -> None:
        """So that its holder hears of it."""
        assert self.run(self.harness.state.board.read()).cancels == self.model.cancels

    @invariant()
    def everybody_holds_what_the_model_says(self) -> None:
        """And nobody holds twice."""
        for owner in self.owners + self.retired[-2:]:
            held = self.run(self.harness.broker.held(owner.id))
            assert sorted(one.id for one in held) == sorted(self.model.held_by(owner.id))

    def teardown(self) -> None:
        """Let go of the store."""
        self.run(self.harness.__aexit__(None, None, None))
        self.runner.close()


def _near(told: float | None, expected: float) -> bool:
    return told is not None and abs(told - expected) < 0.001


def _bounded(endings: list[str]) -> list[str]:
    return endings[-20:]


def _machine(kind: Callable[[], Harness], examples: int, **changes: Any) -> Any:
    """A test case in which Hypothesis drives a broker of this kind."""
    machine: Any = type("Machine", (BrokerMachine,), {"make_harness": lambda _self: kind()})
    machine.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        **changes,
    )
    return machine.TestCase


TestMemory = _machine(MemoryHarness, 40)
TestLooseMemory = _machine(LooseMemoryHarness, 40)
TestSqlite = _machine(SqliteHarness, 30)
TestRedis = _machine(RedisHarness, 20)
TestOldRedis = _machine(OldRedisHarness, 10)


@pytest.mark.parametrize(
    "kind",
    [
        lending.ForgetsToHide,
        lending.FenceStandsStill,
        sending.NeverPromotes,
        settling.AcksForAnyone,
        settling.StaleAckDeletes,
        settling.CountsGiveBacks,
        settling.ForgetsAttempts,
        cancelling.CancelSparesTheHeld,
        cancelling.AcksWhatWasCancelled,
        cancelling.CancelIsNotCounted,
        touching.TouchShortens,
        touching.TouchAdds,
        returning.IgnoresGrace,
        returning.RevivesTheAcked,
        returning.RetireDoesNotBan,
    ],
    ids=lambda kind: kind.__name__,
)
def test_the_machine_catches(kind: type[HonestBroker]) -> None:
    """What it is made of, it finds by itself.

    It stops at the first failure. What Hypothesis draws depends on the modules that were imported before: most faults
    are found in the first ten examples, but some need over forty.
    """
    case = _machine(lambda: MemoryHarness(Fault(kind)), 400, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        case("runTest").runTest()
