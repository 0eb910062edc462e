"""Tests that every delivery queue must pass (`tenure/delivery_queue.py`).

Bring a fixture `harness`, a `QueueHarness` (`tenure.testing.row_harness`), and run them under pytest, in one line:

    globals().update(pytest_classes([DeliveryQueues]))

Not asked here, because queues differ and the table decides anyway: whether an old receipt is refused, whether a copy
comes twice, and in which order copies come.
"""

import msgspec

from tenure import envelope
from tenure.delivery_queue import Attribute, CopyReceipt, OutgoingCopy, QueueCount, ReceivedCopy
from tenure.message import Message
from tenure.testing.harness import NotApplicable
from tenure.testing.row_harness import QUEUE, QueueHarness

_TEXT = "\"ä'\\\n\t{}<&>😀" + "x" * 5000 + '"'


def right_to(copy: ReceivedCopy, seconds: float = 0.0, receipt: str | None = None) -> CopyReceipt:
    """The right to delete a copy or to hide it."""
    return CopyReceipt(copy.physical, copy.receipt if receipt is None else receipt, seconds)


class DeliveryQueues:
    """Copies that are hidden from others while somebody has them, and that are never lost."""

    async def test_a_copy_is_received_as_it_was_sent(self, harness: QueueHarness) -> None:
        sent = OutgoingCopy(harness.physical(), "m1", _TEXT, head='{"n":1}')
        assert await harness.queue.send([sent]) == [""]
        (copy,) = await harness.receive()
        assert (copy.id, copy.body, copy.head, copy.physical) == ("m1", _TEXT, sent.head, sent.physical)
        assert copy.copy_id
        assert copy.receipt

    async def test_attributes_of_others_stay_with_a_copy(self, harness: QueueHarness) -> None:
        attributes = {"kind": Attribute("String", "photo")}
        await harness.queue.send([OutgoingCopy(harness.physical(), "m1", "{}", attributes=attributes)])
        (copy,) = await harness.receive()
        assert copy.attributes == attributes

    async def test_a_received_copy_is_hidden_from_others(self, harness: QueueHarness) -> None:
        await harness.send("m1", "m2")
        assert await harness.ids() == ["m1", "m2"]
        assert await harness.ids() == []

    async def test_a_copy_that_nobody_deleted_comes_back(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        assert await harness.ids(visibility=20) == ["m1"]
        await harness.advance(21.0)
        assert await harness.ids() == ["m1"]

    async def test_a_copy_does_not_come_back_before_its_time(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        began = harness.clock.monotonic()
        (copy,) = await harness.receive(visibility=20)
        assert copy.hidden_until <= began + 20 + 1
        await harness.advance(18.0)
        assert await harness.ids() == []

    async def test_a_receive_brings_no_more_than_it_was_asked_for(self, harness: QueueHarness) -> None:
        await harness.send("m1", "m2", "m3")
        assert len(await harness.queue.receive(harness.physical(), 2, 30)) <= 2
        many = harness.queue.traits.batch + 1
        assert len(await harness.queue.receive(harness.physical(), many, 30)) <= harness.queue.traits.batch

    async def test_a_delayed_copy_is_not_received_early(self, harness: QueueHarness) -> None:
        await harness.send("m1", delay=20)
        await harness.advance(18.0)
        assert await harness.ids() == []
        await harness.advance(4.0)
        assert await harness.ids() == ["m1"]

    async def test_a_deleted_copy_does_not_come_back(self, harness: QueueHarness) -> None:
        await harness.send("m1", "m2")
        copies = {copy.id: copy for copy in await harness.receive(visibility=20)}
        assert await harness.queue.delete([right_to(copies["m1"])]) == [True]
        await harness.advance(21.0)
        assert await harness.ids() == ["m2"]

    async def test_a_copy_can_be_shown_at_once(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        (copy,) = await harness.receive()
        assert await harness.queue.hide([right_to(copy)]) != [None]
        assert await harness.ids() == ["m1"]

    async def test_hiding_counts_from_now_and_never_adds(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        (copy,) = await harness.receive(visibility=30)
        await harness.advance(20.0)
        assert await harness.queue.hide([right_to(copy, 30.0)]) != [None]
        await harness.advance(28.0)
        assert await harness.ids() == []
        await harness.advance(4.0)
        assert await harness.ids() == ["m1"]

    async def test_the_receipt_that_a_hide_answers_is_good_for_what_comes_next(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        (copy,) = await harness.receive()
        (first,) = await harness.queue.hide([right_to(copy, 30.0)])
        assert first is not None
        (second,) = await harness.queue.hide([right_to(copy, 30.0, first)])
        assert second is not None
        assert await harness.queue.delete([right_to(copy, receipt=second)]) == [True]
        await harness.advance(31.0)
        assert await harness.ids() == []

    async def test_a_copy_that_comes_back_can_be_deleted_by_its_new_receipt(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        await harness.receive(visibility=20)
        await harness.advance(21.0)
        (copy,) = await harness.receive(visibility=20)
        assert await harness.queue.delete([right_to(copy)]) == [True]
        await harness.advance(21.0)
        assert await harness.ids() == []

    async def test_many_are_sent_received_and_deleted_in_one_call(self, harness: QueueHarness) -> None:
        ids = [f"m{number:03}" for number in range(2 * harness.queue.traits.batch + 3)]
        await harness.send(*ids)
        copies = await harness.receive(len(ids), visibility=60)
        assert sorted(copy.id or "" for copy in copies) == ids
        assert await harness.queue.delete([right_to(copy) for copy in copies]) == [True] * len(ids)
        await harness.advance(61.0)
        assert await harness.ids() == []

    async def test_queues_are_kept_apart(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        await harness.send("m2", queue="fax-machine")
        assert await harness.ids(queue="fax-machine") == ["m2"]
        assert await harness.ids() == ["m1"]

    async def test_levels_of_priority_are_kept_apart(self, harness: QueueHarness) -> None:
        levels = harness.queue.physical(QUEUE)
        if len(levels) == 1:
            raise NotApplicable("priority_levels is 1 here")
        copies = [OutgoingCopy(physical, f"m{physical.level}", "{}") for physical in levels]
        await harness.queue.send(copies)
        assert [physical.level for physical in levels] == sorted(range(len(levels)), reverse=True)
        for physical in levels:
            (copy,) = await harness.queue.receive(physical, 5, 30)
            assert (copy.id, copy.physical) == (f"m{physical.level}", physical)

    async def test_a_queue_that_was_used_is_listed_and_its_limits_are_known(self, harness: QueueHarness) -> None:
        await harness.send("m1")
        assert QUEUE in await harness.queue.names()
        facts = await harness.queue.facts(harness.physical())
        assert facts.body_limit > 0
        assert facts.keep_seconds > 0
        assert msgspec.structs.replace(harness.queue.remembered(harness.physical()), findings=()) == (
            msgspec.structs.replace(facts, findings=())
        )

    async def test_what_is_there_is_counted_roughly_and_nothing_where_no_queue_is(self, harness: QueueHarness) -> None:
        assert _total(await harness.queue.count(harness.physical("never-used"))) == 0
        await harness.send("m1", "m2", "m3")
        assert _total(await harness.queue.count(harness.physical())) == 3

    async def test_a_copy_brings_the_version_it_was_sent_with(self, harness: QueueHarness) -> None:
        if not harness.queue.traits.carries_versions:
            raise NotApplicable("carries_versions is False here")
        message = envelope.encode(Message(id="m1", queue=QUEUE, task="t", body=msgspec.Raw(b"{}"))).decode()
        await harness.queue.send([OutgoingCopy(harness.physical(), "m1", message, version='W/"a\\b"')])
        (copy,) = await harness.receive()
        assert (copy.body, copy.version) == (message, 'W/"a\\b"')


def _total(count: QueueCount) -> int:
    return count.visible + (count.hidden or 0) + count.delayed
