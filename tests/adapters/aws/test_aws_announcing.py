"""A process that dies between any two calls of what ends a message: that ending is announced, once, and no other."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.adapters.aws.house import FromChange, ProxiedHarness

from tenure.announcement import Announcement, AnnounceRequest
from tenure.broker import Refused
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease
from tenure.message import MessageState, Overrides
from tenure.rowstore.announcing import PART
from tenure.rowstore.row_changes import claim_place, entry_place
from tenure.settlement import Ack, DeadLetter
from tenure.table import RowKey
from tenure.testing.harness import BROKEN, QUEUE

#: More than any act makes.
MOST_CALLS = 30
ASKS: dict[str, Any] = {"announce": ("webhook:orders",), "client": "acme"}

Begin = Callable[[ProxiedHarness, dict[str, Any]], Awaitable[Any]]
Act = Callable[[ProxiedHarness, Any], Awaitable[Any]]


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


# -- what ends a message -----------------------------------------------------------------------------


async def _leased(house: ProxiedHarness, fields: dict[str, Any]) -> Lease:
    return await house.leased(house.stranger(), **fields)


async def _sent(house: ProxiedHarness, fields: dict[str, Any]) -> Any:
    return await house.put(**fields)


async def _new(house: ProxiedHarness, fields: dict[str, Any]) -> Any:
    return house.message(**fields)


async def _overdue(house: ProxiedHarness, fields: dict[str, Any]) -> Lease:
    """Its only attempt, of which the lease ends just before the sweep."""
    lease = await house.leased(house.stranger(), overrides=Overrides(max_attempts=1), **fields)
    await house.advance(house.lease_seconds - 1.0)
    await house.sweep()
    await house.advance(2.0, sweeping=False)
    return lease


async def _claimed(house: ProxiedHarness, lease: Lease) -> Any:
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, lease.owner, lease.seconds, digest(message))
    (answer,) = await house.state.ledger.claim([request])
    return answer


async def _complete(house: ProxiedHarness, lease: Lease) -> None:
    """As a worker does: claimed before, sealed, then acked."""
    answer = await _claimed(house, lease)
    if isinstance(answer, Fresh):
        request = AnnounceRequest.of(decode(lease.envelope))
        await house.state.ledger.seal([Seal(answer.token, b"1", announce=request)])
    await house.broker.ack([Ack(lease, b"1", is_duplicate=isinstance(answer, Done))])


async def _ack(house: ProxiedHarness, lease: Lease) -> None:
    await house.broker.ack([Ack(lease, b"1")])


async def _dead_letter(house: ProxiedHarness, lease: Lease) -> None:
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])


async def _cancel(house: ProxiedHarness, one: Any) -> None:
    await house.broker.cancel([one.id])


async def _delete(house: ProxiedHarness, one: Any) -> None:
    await house.broker.delete([one.id])


async def _sweep(house: ProxiedHarness, _lease: Lease) -> None:
    await house.sweep()


async def _put_aside(house: ProxiedHarness, message: Any) -> None:
    await house.broker.put_aside([Refused(message, BROKEN)])


ENDS = [
    pytest.param(_leased, _complete, MessageState.COMPLETED, None, id="seal and ack"),
    pytest.param(_leased, _complete, MessageState.COMPLETED, "order-7", id="seal and ack, with a key"),
    pytest.param(_leased, _ack, MessageState.COMPLETED, None, id="ack"),
    pytest.param(_leased, _dead_letter, MessageState.DEAD, "order-7", id="dead letter, with a key"),
    pytest.param(_leased, _cancel, MessageState.CANCELLED, "order-7", id="cancel while it is run, with a key"),
    pytest.param(_sent, _cancel, MessageState.CANCELLED, None, id="cancel while it waits"),
    pytest.param(_sent, _delete, MessageState.CANCELLED, None, id="delete"),
    pytest.param(_overdue, _sweep, MessageState.DEAD, None, id="sweep"),
]


# -- what became of it -------------------------------------------------------------------------------


async def _end(house: ProxiedHarness, id: str) -> None:
    """Be all others, until it has ended, and no copy of it comes any more."""
    for _ in range(house.max_attempts + 1):
        record = await house.state.records.get(id)
        if record is None or record.state in (MessageState.DEAD, MessageState.CANCELLED):
            return
        await house.advance(house.lease_seconds + 1.0)
        leases = await house.lease_all(house.stranger())
        for lease in leases:
            await _complete(house, lease)
        if not leases and record.state is MessageState.COMPLETED:
            return


async def _all(house: ProxiedHarness, id: str) -> list[Announcement]:
    return [one for one in await house.broker.announcements() if one.id == id]


async def _intents(house: ProxiedHarness) -> int:
    return len(await house._store.table.page(PART, limit=1000))


@pytest.mark.parametrize(("begin", "act", "wanted", "key"), ENDS)
async def test_whoever_dies_while_it_ends_a_message_leaves_one_announcement(
    house: ProxiedHarness, begin: Begin, act: Act, wanted: MessageState, key: str | None
) -> None:
    met = set()
    for number in range(MOST_CALLS):
        one = await begin(house, {"queue": QUEUE, "key": key and f"{key}-{number}", **ASKS})
        rule = house.proxy.rule(FromChange(number), house.proxy.cut)
        with contextlib.suppress(BrokerUnavailable):
            await act(house, one)
        was_cut = rule.used
        await house.die()
        soon = await _all(house, one.id)
        await _end(house, one.id)
        (told,) = await _all(house, one.id)
        assert soon in ([], [told]), number
        assert (told.generation, told.queue, told.client) == (0, QUEUE, "acme"), number
        record = await house.state.records.get(one.id)
        if record is not None:  # of what was acked without a seal there is none
            assert record.state is told.ending, number
        met.add(told.ending)
        await house.broker.announced([told])
        assert await _all(house, one.id) == []
        assert await _intents(house) == 0, number
        if not was_cut:
            break
    assert wanted in met


async def test_a_refused_hand_off_that_is_put_aside_again_is_announced_once(house: ProxiedHarness) -> None:
    for number in range(MOST_CALLS):
        message = house.message(queue=f"queue-{number}", **ASKS)
        rule = house.proxy.rule(FromChange(number), house.proxy.cut)
        with contextlib.suppress(BrokerUnavailable):
            await _put_aside(house, message)
        was_cut = rule.used
        await house.die()
        soon = await _all(house, message.id)
        await _put_aside(house, message)  # with its parent, which comes again
        (told,) = await _all(house, message.id)
        assert soon in ([], [told])
        assert told.ending is MessageState.DEAD
        await house.broker.announced([told])
        assert await _intents(house) == 0, number
        if not was_cut:
            return
    raise AssertionError("it takes more calls than were tried")


@pytest.mark.parametrize("key", [None, "order-7"])
async def test_whoever_dies_while_it_forgets_announcements_leaves_them_to_the_next(
    house: ProxiedHarness, key: str | None
) -> None:
    for number in range(MOST_CALLS):
        queue = f"queue-{number}"
        done = await house.leased(house.stranger(), queue=queue, key=key, **ASKS)
        await _complete(house, done)
        waiting = await house.put(queue=queue, key=key and f"{key}-again", **ASKS)
        await house.broker.cancel([waiting.id])
        told = await house.broker.announcements()
        assert sorted(one.id for one in told) == sorted([done.id, waiting.id])
        rule = house.proxy.rule(FromChange(number), house.proxy.cut)
        with contextlib.suppress(BrokerUnavailable):
            await house.broker.announced(told)
        was_cut = rule.used
        await house.die()
        left = await house.broker.announcements()
        assert {one.key for one in left} <= {one.key for one in told}
        await house.broker.announced(told)
        assert await house.broker.announcements() == []
        assert await _intents(house) == 0, number
        if not was_cut:
            return
    raise AssertionError("it takes more calls than were tried")


# -- a key: two rows may end one message -------------------------------------------------------------


async def test_what_was_sealed_under_a_key_and_then_given_up_is_announced_as_completed(house: ProxiedHarness) -> None:
    lease = await _leased(house, {"key": "order-7", **ASKS})
    answer = await _claimed(house, lease)
    assert isinstance(answer, Fresh)
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    request = AnnounceRequest.of(decode(lease.envelope))
    assert await house.state.ledger.seal([Seal(answer.token, b"1", announce=request)]) == [True]
    (one,) = await house.broker.announcements()
    assert (one.ending, one.result) == (MessageState.COMPLETED, b"1")


async def test_what_was_announced_as_dead_is_not_announced_as_completed_by_a_late_seal(house: ProxiedHarness) -> None:
    lease = await _leased(house, {"key": "order-7", **ASKS})
    answer = await _claimed(house, lease)
    assert isinstance(answer, Fresh)
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    (one,) = await house.broker.announcements()
    assert one.ending is MessageState.DEAD
    request = AnnounceRequest.of(decode(lease.envelope))
    await house.state.ledger.seal([Seal(answer.token, b"1", announce=request)])
    assert await house.broker.announcements() == [one]


# -- how long rows stay ------------------------------------------------------------------------------


def _is_forgotten_in_time(house: ProxiedHarness, place: RowKey) -> bool:
    """Whether the table removes a row by itself."""
    key = {"part": {"S": place.part}, "sort": {"S": place.sort}}
    return "forget" in house._dynamo().get_item(TableName=house._name, Key=key)["Item"]


async def test_a_row_stays_until_its_end_was_announced_and_no_longer(house: ProxiedHarness) -> None:
    done = await _leased(house, ASKS)
    await _complete(house, done)
    waiting = await house.put(**ASKS)
    await house.broker.cancel([waiting.id])
    rows = [entry_place(done.id), entry_place(waiting.id)]
    assert [_is_forgotten_in_time(house, row) for row in rows] == [False, False]
    await house.broker.announced(await house.broker.announcements())
    assert [_is_forgotten_in_time(house, row) for row in rows] == [True, True]


async def test_the_row_of_a_key_stays_until_its_end_was_announced_and_no_longer(house: ProxiedHarness) -> None:
    lease = await _leased(house, {"key": "order-7", **ASKS})
    await _complete(house, lease)
    claim, entry = claim_place(Scope.of(decode(lease.envelope))), entry_place(lease.id)
    assert (_is_forgotten_in_time(house, claim), _is_forgotten_in_time(house, entry)) == (False, True)
    await house.broker.announced(await house.broker.announcements())
    assert _is_forgotten_in_time(house, claim)


async def test_the_row_of_a_duplicate_that_asked_is_forgotten_in_time(house: ProxiedHarness) -> None:
    await _complete(house, await _leased(house, {"key": "order-7", **ASKS}))
    again = await _leased(house, {"key": "order-7", **ASKS})
    await _complete(house, again)
    assert _is_forgotten_in_time(house, entry_place(again.id))
    assert len(await house.broker.announcements()) == 1


async def test_the_row_of_a_dead_letter_that_was_announced_and_deleted_is_forgotten_in_time(
    house: ProxiedHarness,
) -> None:
    lease = await _leased(house, ASKS)
    await _dead_letter(house, lease)
    await house.broker.announced(await house.broker.announcements())
    assert not _is_forgotten_in_time(house, entry_place(lease.id))
    await house.broker.delete([lease.id])
    assert _is_forgotten_in_time(house, entry_place(lease.id))
    assert await house.broker.announcements() == []


async def test_a_large_result_is_forgotten_in_time_once_it_was_announced(house: ProxiedHarness) -> None:
    lease = await _leased(house, ASKS)
    answer = await _claimed(house, lease)
    assert isinstance(answer, Fresh)
    request = AnnounceRequest.of(decode(lease.envelope))
    await house.state.ledger.seal([Seal(answer.token, b'"' + b"x" * 150_000 + b'"', announce=request)])
    (row, *_) = await house._store.table.page(f"m#{lease.id}", after="x", limit=10)
    assert not _is_forgotten_in_time(house, row.place)
    await house.broker.announced(await house.broker.announcements())
    assert _is_forgotten_in_time(house, row.place)


# -- what it costs -----------------------------------------------------------------------------------


async def _calls_of(house: ProxiedHarness, fields: dict[str, Any]) -> tuple[int, int]:
    """The calls that it takes to run ten messages, and to dead-letter ten, from their leases on."""
    counts = []
    for act in (_complete_all, _dead_letter_all):
        await house.put_many(10, **fields)
        leases = await house.lease_all(house.stranger())
        assert len(leases) == 10
        await house.advance(0.1, sweeping=False)  # places among the dead letters are moments
        before = len(house.proxy.calls)
        await act(house, leases)
        counts.append(len(house.proxy.calls) - before)
    return counts[0], counts[1]


async def _complete_all(house: ProxiedHarness, leases: list[Lease]) -> None:
    messages = [decode(lease.envelope) for lease in leases]
    answers = await house.state.ledger.claim(
        [ClaimRequest(Scope.of(one), one.id, leases[0].owner, 30.0, digest(one)) for one in messages]
    )
    seals = [
        Seal(answer.token, b"1", announce=AnnounceRequest.of(one))
        for answer, one in zip(answers, messages, strict=True)
        if isinstance(answer, Fresh)
    ]
    assert await house.state.ledger.seal(seals) == [True] * 10
    await house.broker.ack([Ack(lease, b"1") for lease in leases])


async def _dead_letter_all(house: ProxiedHarness, leases: list[Lease]) -> None:
    await house.broker.dead_letter([DeadLetter(lease, BROKEN) for lease in leases])


async def test_messages_that_ask_cost_one_call_more_a_batch_and_the_others_none(house: ProxiedHarness) -> None:
    await _calls_of(house, {"queue": QUEUE})  # the first of them list the queue
    plain = await _calls_of(house, {"queue": QUEUE})
    asking = await _calls_of(house, {"queue": QUEUE, **ASKS})
    assert (asking[0] - plain[0], asking[1] - plain[1]) == (1, 1)
    assert len(await house.broker.announcements()) == 20


async def test_a_look_costs_one_query_where_nothing_is_to_be_announced(house: ProxiedHarness) -> None:
    before = len(house.proxy.calls)
    assert await house.broker.announcements() == []
    assert len(house.proxy.calls) - before == 1
