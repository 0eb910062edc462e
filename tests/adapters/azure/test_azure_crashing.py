"""A process that ends between any two calls of a verb, or hears nothing of one of them: nothing lost, nothing twice."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.conformance.azure_harness import AzureHarness

from tenure.adapters import azure
from tenure.adapters.azure.broker import AzureBroker
from tenure.adapters.azure.naming import POISON
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

#: More calls than any verb makes.
_MANY = 20


class Ended(BaseException):
    """The process has ended; nobody can catch that."""


class CrashingHarness(AzureHarness):
    """With a second process, which ends when it is told to."""

    _left: float = float("inf")

    async def victim(self) -> AzureBroker:
        """Another process over the same account: it remembers what it did itself, and nothing else."""
        self._left = float("inf")
        broker, _ = azure.connect(self._options, clock=self.clock, hook=self._pass)
        await broker.open()
        return broker

    def end_after(self, calls: int) -> None:
        """The victim ends when it wants to make one call more."""
        self._left = calls

    def _pass(self, request: Any) -> None:
        if self._left <= 0:
            raise Ended
        self._left -= 1
        self._tell_time(request)

    async def shown(self, ending: str = "") -> int:
        """How many messages a queue shows."""
        client = self._store.queue(QUEUE, ending)
        found: Any = await self._store.call("looking", lambda: client.peek_messages(max_messages=32))
        return len(found)

    async def done(self, lease: Lease) -> bool:
        """Claim; seal if that is fresh. False: it was done before, or nobody wants it any more."""
        message = decode(lease.envelope)
        request = ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))
        (answer,) = await self.state.ledger.claim([request])
        if isinstance(answer, Done):
            return False
        assert isinstance(answer, Fresh)
        (is_mine,) = await self.state.ledger.seal([Seal(answer.token, b"1")])
        return is_mine

    async def finish(self, id: str) -> int:
        """Be everybody else, for as long as it takes; how often the work was done."""
        runs = 0
        for _ in range(6):
            await self.lapse()
            leases = await self.lease_all(self.stranger())
            assert [lease.id for lease in leases] in ([], [id])
            for lease in leases:
                runs += await self.done(lease)
                await self.broker.ack([Ack(lease, b"1")])
            if not leases and not await self.shown():
                break
        assert await self.shown() == 0
        return runs


@pytest.fixture
def harness() -> CrashingHarness:
    """In virtual time."""
    return CrashingHarness()


async def _each_call(
    harness: CrashingHarness,
    prepare: Callable[[AzureBroker], Awaitable[Any]],
    verb: Callable[[AzureBroker, Any], Awaitable[Any]],
    check: Callable[[Any, int], Awaitable[None]],
) -> int:
    """Let a process end after every number of calls of `verb`; how many calls it makes."""
    for calls in range(_MANY):
        victim = await harness.victim()
        what = await prepare(victim)
        harness.end_after(calls)
        try:
            await verb(victim, what)
        except Ended:
            is_through = False
        else:
            is_through = True
        await victim.close()
        await check(what, calls)
        if is_through:
            return calls
    raise AssertionError("it makes more calls than expected")


async def _leased_by(harness: CrashingHarness, victim: AzureBroker) -> Lease:
    message = await harness.put()
    await harness.sweep()
    (lease,) = await victim.lease(harness.request(harness.stranger()))
    assert lease.id == message.id
    return lease


@pytest.mark.parametrize("delay", [0.0, 7.0])
async def test_a_nack_cut_off_anywhere_is_run_once_more(harness: CrashingHarness, delay: float) -> None:
    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 1, calls
        assert (await harness.record(lease.id)).state == MessageState.COMPLETED

    calls = await _each_call(
        harness,
        lambda victim: _leased_by(harness, victim),
        lambda victim, lease: victim.nack([Nack(lease, delay, BROKEN)]),
        check,
    )
    assert calls == 2


async def test_a_message_given_back_and_cut_off_anywhere_is_run_once_and_nothing_is_counted_twice(
    harness: CrashingHarness,
) -> None:
    async def check(lease: Lease, calls: int) -> None:
        await harness.lapse()
        (again,) = await harness.lease_all(harness.stranger())
        # Cut off before its life was changed, its holder has let it lapse.
        assert again.counters.attempts == (0 if calls else 1)
        await harness.broker.give_back([GiveBack(again)])
        assert await harness.finish(lease.id) == 1

    await _each_call(
        harness,
        lambda victim: _leased_by(harness, victim),
        lambda victim, lease: victim.give_back([GiveBack(lease)]),
        check,
    )


async def test_an_ack_cut_off_anywhere_is_never_run_again(harness: CrashingHarness) -> None:
    async def prepare(victim: AzureBroker) -> Lease:
        lease = await _leased_by(harness, victim)
        assert await harness.done(lease)
        return lease

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 0, calls
        assert (await harness.record(lease.id)).state == MessageState.COMPLETED

    await _each_call(harness, prepare, lambda victim, lease: victim.ack([Ack(lease, b"1")]), check)


async def test_a_dead_letter_cut_off_anywhere_is_dead_with_its_bytes_or_still_to_be_run(
    harness: CrashingHarness,
) -> None:
    async def check(lease: Lease, calls: int) -> None:
        await harness.lapse()
        if not calls:
            assert await harness.finish(lease.id) == 1
            return
        assert await harness.finish(lease.id) == 0, calls
        record = await harness.record(lease.id)
        assert (record.state, record.envelope) == (MessageState.DEAD, lease.envelope)
        assert await harness.shown(POISON) >= 1
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        assert await harness.finish(lease.id) == 1
        await _empty(harness)

    calls = await _each_call(
        harness,
        lambda victim: _leased_by(harness, victim),
        lambda victim, lease: victim.dead_letter([DeadLetter(lease, BROKEN)]),
        check,
    )
    assert calls >= 4  # the life, the copy, where it is, the message


async def _empty(harness: CrashingHarness) -> None:
    """A copy too many may lie among the dead, for people only."""
    client = harness._store.queue(QUEUE, POISON)
    await harness._store.call("emptying", client.clear_messages)


async def test_a_redrive_cut_off_anywhere_is_run_once_however_often_it_is_repeated(harness: CrashingHarness) -> None:
    async def prepare(_victim: AzureBroker) -> str:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert settlement.outcome == Outcome.DEAD
        return lease.id

    async def check(id: str, calls: int) -> None:
        await harness.sweep()
        state = (await harness.record(id)).state
        assert state in (MessageState.DEAD, MessageState.READY), calls
        moved = await harness.broker.redrive([id])
        assert moved == ([id] if state is MessageState.DEAD else []), calls
        assert await harness.finish(id) == 1, calls
        assert (await harness.record(id)).state == MessageState.COMPLETED
        await _empty(harness)

    calls = await _each_call(harness, prepare, lambda victim, id: victim.redrive([id]), check)
    assert calls >= 4  # read, changed, taken from the dead, put, noted


async def test_a_cancel_cut_off_anywhere_runs_at_most_once_and_leaves_nothing_in_the_queue(
    harness: CrashingHarness,
) -> None:
    async def prepare(_victim: AzureBroker) -> str:
        return (await harness.put()).id

    async def check(id: str, _calls: int) -> None:
        runs = await harness.finish(id)
        record = await harness.record(id)
        assert record.counters.deliveries <= 1
        state = record.state
        assert (runs, state) in ((0, MessageState.CANCELLED), (1, MessageState.COMPLETED))

    await _each_call(harness, prepare, lambda victim, id: victim.cancel([id]), check)


async def test_a_lease_cut_off_anywhere_comes_back(harness: CrashingHarness) -> None:
    async def prepare(_victim: AzureBroker) -> str:
        return (await harness.put()).id

    async def check(id: str, calls: int) -> None:
        assert await harness.finish(id) == 1, calls

    await _each_call(harness, prepare, lambda victim, _id: victim.lease(harness.request(harness.stranger())), check)
