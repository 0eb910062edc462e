"""Promoting on SQS: what an entry keeps for it, what that costs, and what cannot be shown early."""

from collections.abc import Sequence

import pytest
from tests.conformance.aws_harness import SqsHarness

from tenure.adapters.aws.sqs import SqsQueue
from tenure.broker import Promoted
from tenure.delivery_queue import CopyReceipt
from tenure.message import MessageState
from tenure.rowstore.entry import Entry
from tenure.rowstore.row_changes import ENTRY, entry_place
from tenure.settlement import Nack
from tenure.testing.harness import BROKEN

HOUR = 3_600.0
WAS_DELAYED = Promoted(MessageState.DELAYED)
#: DynamoDB counts kilobytes, with the names of the fields.
KILOBYTE = 1_024


@pytest.fixture
def house() -> SqsHarness:
    return SqsHarness()


async def _entry(house: SqsHarness, id: str) -> tuple[Entry, int]:
    (row,) = await house._store.table.get([entry_place(id)])
    assert row is not None
    entry = ENTRY.read(row)
    assert entry is not None
    return entry, len(row.text.encode())


async def test_a_short_body_is_kept_until_the_message_is_first_received(house: SqsHarness) -> None:
    async with house:
        for length in range(0, 1_000, 50):
            message = await house.put(body={"to": "x" * length}, delay_seconds=HOUR)
            entry, size = await _entry(house, message.id)
            assert size <= KILOBYTE - 100
            assert bool(entry.body) == (length <= 650), length
        short = await house.put(delay_seconds=HOUR, queue="short")
        await house.broker.promote([short.id])
        await house.lease_one(house.stranger(), queues=("short",))
        entry, _ = await _entry(house, short.id)
        assert (entry.body, entry.head) == ("", "")


async def test_a_message_without_a_delay_has_no_body_in_its_entry(house: SqsHarness) -> None:
    async with house:
        message = await house.put()
        assert (await _entry(house, message.id))[0].body == ""


async def test_a_large_one_is_refused_until_somebody_has_received_it(house: SqsHarness) -> None:
    async with house:
        message = await house.put(body={"to": "x" * 5_000}, delay_seconds=HOUR)
        before = await house.record(message.id)
        (answer,) = await house.broker.promote([message.id])
        assert answer.was is MessageState.DELAYED
        assert "stays delayed (3600 s are left)" in answer.refusal
        assert await house.record(message.id) == before
        await house.advance(901.0)  # SQS delays no longer: then comes the first hop
        assert await house.lease(house.stranger()) == []
        assert await house.broker.promote([message.id]) == [Promoted(MessageState.DELAYED)]
        assert (await house.lease_one(house.stranger())).id == message.id


async def test_a_large_one_that_waits_for_its_retry_is_not_refused(house: SqsHarness) -> None:
    async with house:
        lease = await house.leased(house.stranger(), body={"to": "x" * 5_000})
        await house.broker.nack([Nack(lease, HOUR, BROKEN)])
        assert await house.broker.promote([lease.id]) == [Promoted(MessageState.DELAYED)]
        assert (await house.lease_one(house.stranger())).id == lease.id


async def test_a_fifo_group_goes_on_at_once(house: SqsHarness) -> None:
    async with house:
        first, second = await house.put(queue="orders.fifo"), await house.put(queue="orders.fifo")
        lease = await house.lease_one(house.stranger(), queues=("orders.fifo",))
        await house.broker.nack([Nack(lease, HOUR, BROKEN)])
        assert await house.lease(house.stranger(), queues=("orders.fifo",)) == []
        assert await house.broker.promote([first.id]) == [Promoted(MessageState.DELAYED)]
        lease = await house.lease_one(house.stranger(), queues=("orders.fifo",))
        assert lease.id == first.id
        await house.complete(lease)
        assert (await house.lease_one(house.stranger(), queues=("orders.fifo",))).id == second.id


async def test_a_hop_of_a_minute_writes_nothing(house: SqsHarness) -> None:
    async with house:
        soon, late = await house.put(delay_seconds=930.0), await house.put(delay_seconds=2_000.0, queue="late")
        await house.advance(901.0)
        assert await house.lease_all(house.stranger(), queues=("mail", "late")) == []
        assert (await _entry(house, soon.id))[0].receipt == ""
        assert (await _entry(house, late.id))[0].receipt


@pytest.mark.parametrize("how", ["nack", "hop"])
async def test_one_that_is_hidden_while_it_is_promoted_is_shown_by_the_next_promotion(
    house: SqsHarness, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A worker writes that the message waits, and then hides its copy: a promotion may come between the two."""
    async with house:
        lease = await house.leased(house.stranger()) if how == "nack" else None
        id = (await house.put(delay_seconds=10 * HOUR)).id if lease is None else lease.id
        other, real, answers = await house.elsewhere(), SqsQueue.hide, list[Promoted]()

        async def hide(queues: SqsQueue, receipts: Sequence[CopyReceipt]) -> list[str | None]:
            if receipts and not answers:
                answers.append(WAS_DELAYED)
                answers[:] = await other.promote([id])
            return await real(queues, receipts)

        monkeypatch.setattr(SqsQueue, "hide", hide)
        if lease is None:
            await house.advance(901.0)
            assert await house.lease(house.stranger()) == []
        else:
            await house.broker.nack([Nack(lease, HOUR, BROKEN)])
        assert answers == [WAS_DELAYED]
        assert await house.broker.promote([id]) == [Promoted(MessageState.READY)]
        assert (await house.lease_one(house.stranger())).id == id
