"""A process that ends between any two calls of what ends a message: that ending is announced, once, and no other."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.adapters.azure.house import CrashingHarness, each_call
from tests.conformance.azure_harness import AzureHarness

from tenure.adapters.azure.announcing import PART
from tenure.announcement import Announcement, AnnounceRequest
from tenure.broker import Broker, Refused
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import Message, MessageState, Overrides
from tenure.settlement import Ack, DeadLetter
from tenure.testing.harness import BROKEN

ASKS: dict[str, Any] = {"announce": ("webhook:orders",), "client": "acme"}

Begin = Callable[[CrashingHarness, Broker], Awaitable[Any]]
Act = Callable[[CrashingHarness, Broker, Any], Awaitable[Any]]


@pytest.fixture
def harness() -> CrashingHarness:
    """In virtual time."""
    return CrashingHarness()


# -- what ends a message -----------------------------------------------------------------------------


async def _leased(harness: CrashingHarness, victim: Broker, **fields: Any) -> Lease:
    message = await harness.put(**ASKS, **fields)
    await harness.sweep()
    (lease,) = await victim.lease(harness.request(harness.stranger()))
    assert lease.id == message.id
    return lease


async def _sent(harness: CrashingHarness, _victim: Broker) -> Message:
    return await harness.put(**ASKS)


async def _delayed(harness: CrashingHarness, _victim: Broker) -> Message:
    return await harness.put(delay_seconds=20.0, **ASKS)


async def _overdue(harness: CrashingHarness, victim: Broker, **fields: Any) -> Lease:
    """Its only attempt, of which the lease ends just before the sweep."""
    lease = await _leased(harness, victim, overrides=Overrides(max_attempts=1), **fields)
    await harness.advance(harness.lease_seconds - 1.0)
    await harness.sweep()
    await harness.advance(2.0, sweeping=False)
    return lease


def _claim(lease: Lease) -> ClaimRequest:
    message = decode(lease.envelope)
    return ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))


async def _complete(harness: CrashingHarness, victim: Broker, lease: Lease) -> None:
    """As a worker does: claimed before, sealed, then acked."""
    (answer,) = await harness.victim_state.ledger.claim([_claim(lease)])
    assert isinstance(answer, Fresh)
    request = AnnounceRequest.of(decode(lease.envelope))
    await harness.victim_state.ledger.seal([Seal(answer.token, b"1", announce=request)])
    await victim.ack([Ack(lease, b"1")])


async def _ack(_harness: CrashingHarness, victim: Broker, lease: Lease) -> None:
    await victim.ack([Ack(lease, b"1")])


async def _dead_letter(_harness: CrashingHarness, victim: Broker, lease: Lease) -> None:
    await victim.dead_letter([DeadLetter(lease, BROKEN)])


async def _cancel(_harness: CrashingHarness, victim: Broker, one: Any) -> None:
    await victim.cancel([one.id])


async def _delete(_harness: CrashingHarness, victim: Broker, one: Any) -> None:
    await victim.delete([one.id])


async def _sweep(harness: CrashingHarness, victim: Broker, _lease: Lease) -> None:
    await victim.sweep(harness.sweep_request())


ENDS = [
    pytest.param(_leased, _complete, MessageState.COMPLETED, id="seal and ack"),
    pytest.param(_leased, _ack, MessageState.COMPLETED, id="ack"),
    pytest.param(_leased, _dead_letter, MessageState.DEAD, id="dead letter"),
    pytest.param(_leased, _cancel, MessageState.CANCELLED, id="cancel while it is run"),
    pytest.param(_sent, _cancel, MessageState.CANCELLED, id="cancel while it waits"),
    pytest.param(_delayed, _delete, MessageState.CANCELLED, id="delete"),
    pytest.param(_overdue, _sweep, MessageState.DEAD, id="sweep"),
]


# -- what became of it -------------------------------------------------------------------------------


async def _all(harness: AzureHarness, id: str) -> list[Announcement]:
    return [one for one in await harness.broker.announcements() if one.id == id]


async def _intents(harness: AzureHarness) -> int:
    return len(await harness._store.rows.scan(PART, "a:"))


@pytest.mark.parametrize(("begin", "act", "wanted"), ENDS)
async def test_an_end_cut_off_anywhere_is_announced_once(
    harness: CrashingHarness, begin: Begin, act: Act, wanted: MessageState
) -> None:
    met = set()

    async def check(one: Any, calls: int) -> None:
        soon = await _all(harness, one.id)
        await harness.finish(one.id)
        (told,) = await _all(harness, one.id)
        assert soon in ([], [told]), calls
        assert (told.generation, told.client) == (0, "acme"), calls
        record = await harness.state.records.get(one.id)
        if record is not None:  # of what was acked without a seal there is none
            assert record.state is told.ending, calls
        met.add(told.ending)
        await harness.broker.announced([told])
        assert await _all(harness, one.id) == []
        assert await _intents(harness) == 0, calls

    await each_call(
        harness, lambda victim: begin(harness, victim), lambda victim, one: act(harness, victim, one), check
    )
    assert wanted in met


async def test_a_refused_hand_off_that_is_put_aside_again_is_announced_once(harness: CrashingHarness) -> None:
    async def begin(_victim: Broker) -> Message:
        return harness.message(**ASKS)

    async def check(message: Message, calls: int) -> None:
        soon = await _all(harness, message.id)
        await harness.broker.put_aside([Refused(message, BROKEN)])  # with its parent, which comes again
        (told,) = await _all(harness, message.id)
        assert soon in ([], [told]), calls
        assert told.ending is MessageState.DEAD
        await harness.broker.announced([told])
        assert await _intents(harness) == 0, calls

    await each_call(harness, begin, lambda victim, message: victim.put_aside([Refused(message, BROKEN)]), check)


async def test_announcements_of_which_the_forgetting_is_cut_off_are_left_to_the_next(harness: CrashingHarness) -> None:
    async def begin(_victim: Broker) -> list[Announcement]:
        lease = await harness.leased(harness.stranger(), **ASKS)
        await harness.complete(lease)
        await harness.broker.cancel([(await harness.put(**ASKS)).id])
        told = await harness.broker.announcements()
        assert len(told) == 2
        return told

    async def check(told: list[Announcement], calls: int) -> None:
        left = await harness.broker.announcements()
        assert {one.key for one in left} <= {one.key for one in told}, calls
        await harness.broker.announced(told)
        assert await _intents(harness) == 0, calls

    await each_call(harness, begin, lambda victim, told: victim.announced(told), check)


# -- the life and the claim may both end one message -------------------------------------------------


async def test_what_was_sealed_and_then_given_up_is_announced_as_completed(harness: CrashingHarness) -> None:
    lease = await harness.leased(harness.stranger(), **ASKS)
    (answer,) = await harness.state.ledger.claim([_claim(lease)])
    assert isinstance(answer, Fresh)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    request = AnnounceRequest.of(decode(lease.envelope))
    assert await harness.state.ledger.seal([Seal(answer.token, b"1", announce=request)]) == [True]
    (one,) = await harness.broker.announcements()
    assert (one.ending, one.result) == (MessageState.COMPLETED, b"1")


async def test_what_was_announced_as_dead_is_not_announced_as_completed_by_a_late_seal(
    harness: CrashingHarness,
) -> None:
    lease = await harness.leased(harness.stranger(), **ASKS)
    (answer,) = await harness.state.ledger.claim([_claim(lease)])
    assert isinstance(answer, Fresh)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    (one,) = await harness.broker.announcements()
    assert one.ending is MessageState.DEAD
    request = AnnounceRequest.of(decode(lease.envelope))
    await harness.state.ledger.seal([Seal(answer.token, b"1", announce=request)])
    assert await harness.broker.announcements() == [one]


async def test_a_redriven_message_is_announced_for_an_end_that_was_not_announced_yet(harness: CrashingHarness) -> None:
    """Its life goes with the ack; the letter takes the ends before along."""
    lease = await harness.leased(harness.stranger(), **ASKS)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await harness.broker.redrive([lease.id])
    await harness.complete(await harness.lease_one(harness.stranger()))
    assert [(one.generation, one.ending) for one in await harness.broker.announcements()] == [
        (0, MessageState.DEAD), (1, MessageState.COMPLETED),
    ]  # fmt: skip


# -- what it costs -----------------------------------------------------------------------------------


class CountingHarness(AzureHarness):
    """Every request is counted."""

    calls = 0

    def _tell_time(self, request: Any) -> None:
        super()._tell_time(request)
        self.calls += 1


async def _calls_of(harness: CountingHarness, fields: dict[str, Any]) -> int:
    await harness.put_many(10, **fields)
    leases = await harness.lease_all(harness.stranger())
    messages = [decode(lease.envelope) for lease in leases]
    assert len(messages) == 10
    before = harness.calls
    answers = await harness.state.ledger.claim([_claim(lease) for lease in leases])
    seals = [
        Seal(answer.token, b"1", announce=AnnounceRequest.of(one))
        for answer, one in zip(answers, messages, strict=True)
        if isinstance(answer, Fresh)
    ]
    assert await harness.state.ledger.seal(seals) == [True] * 10
    await harness.broker.ack([Ack(lease, b"1") for lease in leases])
    return harness.calls - before


class TestCosts:
    """Of asking, and of looking."""

    @pytest.fixture
    def harness(self) -> CountingHarness:
        """In virtual time."""
        return CountingHarness()

    async def test_messages_that_ask_cost_one_call_more_a_batch_and_the_others_none(
        self, harness: CountingHarness
    ) -> None:
        plain = await _calls_of(harness, {})
        assert await _calls_of(harness, ASKS) - plain == 1
        before = harness.calls
        told = await harness.broker.announcements()
        assert (len(told), harness.calls - before) == (10, 11)  # a query, and a look at the claim of each
        await harness.broker.announced(told)
        assert harness.calls - before == 12

    async def test_a_look_costs_one_query_where_nothing_is_to_be_announced(self, harness: CountingHarness) -> None:
        before = harness.calls
        assert await harness.broker.announcements() == []
        assert harness.calls - before == 1


@pytest.mark.parametrize("key", [None, "order-7"], ids=["no key", "key"])
@pytest.mark.parametrize("told", ["not read", "read", "announced"])
async def test_a_holder_that_was_frozen_before_its_claim_does_not_announce_again(
    harness: CrashingHarness, told: str, key: str | None
) -> None:
    """Its message died in between. The claim is granted, since none was made before."""
    victim = await harness.victim()
    lease = await _overdue(harness, victim, key=key)
    await harness.sweep()
    found = [] if told == "not read" else await _all(harness, lease.id)
    assert {one.ending for one in found} <= {MessageState.DEAD}
    if told == "announced":
        await harness.broker.announced(found)
    (answer,) = await harness.victim_state.ledger.claim([_claim(lease)])
    assert isinstance(answer, Fresh)
    request = AnnounceRequest.of(decode(lease.envelope))
    await harness.victim_state.ledger.seal([Seal(answer.token, b"1", announce=request)])
    await victim.ack([Ack(lease, b"1")])
    left = await _all(harness, lease.id)
    assert len(left) == (0 if told == "announced" else 1)
    assert told == "not read" or {one.ending for one in left} <= {MessageState.DEAD}
    await victim.close()
