"""Announcing: a message that asked for it leaves an announcement in the step in which it ends, once a generation."""

import asyncio
from typing import Any

import msgspec

from tenure.announcement import RESULT_LIMIT, Announcement, AnnounceRequest
from tenure.broker import Refused
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

TARGETS = ("webhook:orders",)


class Announcing:
    """The promises of `announcements` and `announced`."""

    # --- what is announced ------------------------------------------------------------------------------

    async def test_a_completed_message_is_announced_with_its_result(self, harness: Harness) -> None:
        message = await _put(harness, client="acme", correlation_id="order-7")
        await harness.complete(await harness.lease_one(harness.stranger()), b'{"total":9}')
        ended_at = harness.state.wall()
        (one,) = await _pending(harness)
        assert (one.id, one.generation, one.queue, one.task) == (message.id, 0, QUEUE, TASK)
        assert (one.targets, one.client, one.correlation_id) == (TARGETS, "acme", "order-7")
        assert (one.ending, one.result, one.reason) == (MessageState.COMPLETED, b'{"total":9}', None)
        assert abs(one.ended_at - ended_at) < 2.0

    async def test_a_message_may_ask_for_several_targets(self, harness: Harness) -> None:
        await harness.put(announce=("webhook:orders", "webhook:audit https://example.com/ä?b=1"))
        await harness.complete(await harness.lease_one(harness.stranger()))
        (one,) = await _pending(harness)
        assert one.targets == ("webhook:orders", "webhook:audit https://example.com/ä?b=1")

    async def test_a_message_that_did_not_ask_is_not_announced(self, harness: Harness) -> None:
        await harness.complete(await harness.leased(harness.stranger()))
        await harness.broker.dead_letter([DeadLetter(await harness.leased(harness.stranger()), BROKEN)])
        await harness.put()
        await harness.broker.cancel([(await harness.put()).id])
        assert await _pending(harness) == []

    async def test_a_message_that_has_not_ended_is_not_announced(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        await harness.lapse()
        await harness.lease_one(harness.stranger())
        await _put(harness, delay_seconds=60.0)
        assert await _pending(harness) == []

    async def test_a_dead_letter_is_announced_with_its_reason(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS, client="acme")
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN, counted=True)])
        (one,) = await _pending(harness)
        assert (one.id, one.ending, one.reason, one.result) == (lease.id, MessageState.DEAD, BROKEN, None)
        assert (one.client, one.targets, one.task) == ("acme", TARGETS, TASK)

    async def test_what_a_sweep_gives_up_is_announced(self, harness: Harness) -> None:
        message = await _put(harness)
        for _ in range(harness.max_attempts):
            await harness.lease_one(harness.stranger())
            await harness.lapse()
        assert await harness.state_of(message.id) == MessageState.DEAD
        (one,) = await _pending(harness)
        assert (one.id, one.ending, one.targets) == (message.id, MessageState.DEAD, TARGETS)
        assert one.reason is not None
        assert one.reason.code == (await harness.record(message.id)).reason.code  # type: ignore[union-attr]

    async def test_what_is_cancelled_while_it_waits_is_announced(self, harness: Harness) -> None:
        ready, delayed = await _put(harness), await _put(harness, delay_seconds=60.0)
        await harness.broker.cancel([ready.id, delayed.id])
        assert await _endings(harness) == {(one.id, 0): MessageState.CANCELLED for one in (ready, delayed)}

    async def test_what_is_cancelled_while_it_is_run_is_announced_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.broker.cancel([lease.id])
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert not settlement.took_effect
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.lapse()
        assert await _endings(harness) == {(lease.id, 0): MessageState.CANCELLED}

    async def test_what_is_deleted_while_it_waits_is_announced_as_cancelled(self, harness: Harness) -> None:
        ready, delayed = await _put(harness), await _put(harness, delay_seconds=60.0)
        assert set(await harness.broker.delete([ready.id, delayed.id])) == {ready.id, delayed.id}
        assert await _endings(harness) == {(one.id, 0): MessageState.CANCELLED for one in (ready, delayed)}

    async def test_a_dead_letter_that_is_deleted_is_not_announced_again(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.broker.announced(await _pending(harness))
        await harness.broker.delete([lease.id])
        assert await _pending(harness) == []

    async def test_a_refused_hand_off_is_announced_as_dead(self, harness: Harness) -> None:
        message = harness.message(announce=TARGETS)
        await harness.broker.put_aside([Refused(message, BROKEN)])
        await harness.broker.put_aside([Refused(message, BROKEN)])
        (one,) = await _pending(harness)
        assert (one.id, one.ending, one.reason) == (message.id, MessageState.DEAD, BROKEN)

    async def test_a_hand_off_may_ask_too(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease, message = await harness.leased(harness.stranger()), harness.message(announce=TARGETS)
        await harness.broker.ack([Ack(lease, b"null", (Outgoing(message),))])
        await harness.complete(await harness.lease_one(harness.stranger()))
        assert await _endings(harness) == {(message.id, 0): MessageState.COMPLETED}

    async def test_each_of_a_batch_is_announced(self, harness: Harness) -> None:
        asking = [await _put(harness) for _ in range(3)]
        await harness.put_many(3)
        for lease in await harness.lease_all(harness.stranger()):
            await harness.complete(lease, msgspec.json.encode(lease.id))
        told = {one.id: one.result for one in await _pending(harness)}
        assert told == {message.id: msgspec.json.encode(message.id) for message in asking}

    async def test_a_large_result_is_left_with_its_record(self, harness: Harness) -> None:
        message = await _put(harness)
        result = msgspec.json.encode("x" * RESULT_LIMIT)
        await harness.complete(await harness.lease_one(harness.stranger()), result)
        (one,) = await _pending(harness)
        assert (one.id, one.result, one.large_result) == (message.id, None, len(result))
        assert (await harness.record(message.id)).result == result

    # --- what Tenure did not send asks when it is claimed -------------------------------------------------

    async def test_a_message_that_tenure_did_not_send_asks_by_its_claim(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), key="order-7")
        (answer,) = await harness.state.ledger.claim([_claim(harness, lease, AnnounceRequest(TARGETS, "acme", "o-7"))])
        assert isinstance(answer, Fresh)
        assert await _pending(harness) == []
        assert await harness.state.ledger.release([answer.token]) == [True]
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        (one,) = await _pending(harness)
        assert (one.id, one.queue, one.task, one.ending, one.reason) == (
            lease.id, QUEUE, TASK, MessageState.DEAD, BROKEN,
        )  # fmt: skip
        assert (one.targets, one.client, one.correlation_id) == (TARGETS, "acme", "o-7")

    async def test_what_a_claim_asked_for_is_announced_with_the_result_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), key="order-7")
        asked = AnnounceRequest(TARGETS, "acme")
        (answer,) = await harness.state.ledger.claim([_claim(harness, lease, asked)])
        assert isinstance(answer, Fresh)
        assert await harness.state.ledger.seal([Seal(answer.token, b"9", announce=asked)]) == [True]
        await harness.broker.ack([Ack(lease, b"9")])
        told = [(one.id, one.ending, one.result, one.client) for one in await _pending(harness)]
        assert told == [(lease.id, MessageState.COMPLETED, b"9", "acme")]

    # --- once -------------------------------------------------------------------------------------------

    async def test_a_settle_that_is_repeated_announces_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.complete(lease)
        await harness.broker.ack([Ack(lease)])
        dead = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        assert sorted(one.id for one in await _pending(harness)) == sorted([lease.id, dead.id])

    async def test_a_stale_holder_announces_nothing(self, harness: Harness) -> None:
        stale = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.lapse()
        await harness.lease_one(harness.stranger())
        await harness.broker.ack([Ack(stale)])
        await harness.broker.dead_letter([DeadLetter(stale, BROKEN)])
        assert await _pending(harness) == []

    async def test_what_was_sealed_is_announced_once_though_its_ack_never_came(self, harness: Harness) -> None:
        message = await _put(harness, key="order-7")
        lease = await harness.lease_one(harness.stranger())
        assert await _sealed(harness, lease, b"9")
        assert [(one.id, one.ending, one.result) for one in await _pending(harness)] == [
            (message.id, MessageState.COMPLETED, b"9")
        ]
        await harness.lapse()
        again = await harness.lease_one(harness.stranger())
        (answer,) = await harness.state.ledger.claim([_claim(harness, again)])
        assert isinstance(answer, Done)
        await harness.broker.ack([Ack(again, answer.result, is_duplicate=True)])
        assert await _endings(harness) == {(message.id, 0): MessageState.COMPLETED}

    async def test_a_keyed_message_is_announced_once(self, harness: Harness) -> None:
        message = await _put(harness, key="order-7")
        lease = await harness.lease_one(harness.stranger())
        assert await _sealed(harness, lease, b"9")
        (settlement,) = await harness.broker.ack([Ack(lease, b"9")])
        assert settlement.outcome == Outcome.DELETED
        assert await _endings(harness) == {(message.id, 0): MessageState.COMPLETED}

    async def test_a_duplicate_of_work_that_is_done_is_not_announced(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        duplicate = await harness.leased(harness.stranger(), announce=TARGETS)
        await harness.broker.ack([Ack(duplicate, b"9", is_duplicate=True)])
        assert await _pending(harness) == []

    async def test_a_message_that_was_redriven_is_announced_for_each_of_its_ends_in_order(
        self, harness: Harness
    ) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS, client="acme")
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        await harness.complete(await harness.lease_one(harness.stranger()), b"9")
        ends = [(one.id, one.generation, one.ending, one.client) for one in await _pending(harness)]
        assert ends == [(lease.id, 0, MessageState.DEAD, "acme"), (lease.id, 1, MessageState.COMPLETED, "acme")]

    async def test_of_an_ack_and_a_cancel_at_once_the_one_that_ended_it_is_announced(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), announce=TARGETS)
        (settled,), _ = await asyncio.gather(
            harness.broker.dead_letter([DeadLetter(lease, BROKEN)]), harness.broker.cancel([lease.id])
        )
        ending = MessageState.DEAD if settled.took_effect else MessageState.CANCELLED
        assert await _endings(harness) == {(lease.id, 0): ending}
        assert await harness.state_of(lease.id) == ending

    # --- until it is announced --------------------------------------------------------------------------

    async def test_an_announcement_stays_until_it_is_announced(self, harness: Harness) -> None:
        first, second = await _put(harness), await _put(harness)
        await harness.broker.cancel([first.id, second.id])
        waiting = await _pending(harness)
        assert await _pending(harness) == waiting
        await harness.broker.announced([one for one in waiting if one.id == first.id])
        assert [one.id for one in await _pending(harness)] == [second.id]
        await harness.broker.announced(waiting)
        await harness.broker.announced(waiting)
        assert await _pending(harness) == []

    async def test_retention_removes_neither_an_announcement_nor_its_large_result(self, harness: Harness) -> None:
        message = await _put(harness)
        result = msgspec.json.encode("x" * RESULT_LIMIT)
        await harness.complete(await harness.lease_one(harness.stranger()), result)
        for _ in range(30):
            await harness.advance(86_400.0, sweeping=False)
            await harness.sweep()
        (one,) = await _pending(harness)
        assert (one.id, one.large_result) == (message.id, len(result))
        assert (await harness.record(message.id)).result == result

    async def test_another_connection_reads_and_ends_them(self, harness: Harness) -> None:
        message = await _put(harness)
        await harness.complete(await harness.lease_one(harness.stranger()))
        elsewhere = await harness.elsewhere()
        waiting = await _pending(harness, elsewhere)
        assert [one.id for one in waiting] == [message.id]
        await elsewhere.announced(waiting)
        assert await _pending(harness) == []

    async def test_they_are_read_in_pages_from_a_place(self, harness: Harness) -> None:
        ids = [(await _put(harness)).id for _ in range(7)]
        for id in ids:
            await harness.broker.cancel([id])
            await asyncio.sleep(0.01)
        found: list[str] = []
        place = ""
        while page := await harness.broker.announcements(place, 2):
            assert len(page) <= 2
            found += [one.id for one in page]
            assert len(found) <= len(ids), "a page does not go on behind its place"
            place = page[-1].place
        assert found == ids
        assert await harness.broker.announcements(place, 2) == []

    async def test_endings_of_several_queues_are_all_found(self, harness: Harness) -> None:
        put = [await _put(harness, queue=queue) for queue in (QUEUE, "other", "third")]
        await harness.broker.cancel([one.id for one in put])
        found = {(one.id, one.queue) for one in await _pending(harness)}
        assert found == {(one.id, one.queue) for one in put}
        for page_size in (1, 2):
            assert len(await harness.broker.announcements("", page_size)) == page_size

    async def test_the_same_id_in_two_queues_is_two_endings(self, harness: Harness) -> None:
        harness.need("ids_across_queues", lambda across: not across)
        message = await _put(harness)
        other = await _put(harness, queue="other", id=message.id)
        await harness.broker.cancel([message.id], QUEUE)
        await harness.broker.cancel([other.id], "other")
        waiting = await _pending(harness)
        assert {one.key for one in waiting} == {(QUEUE, message.id, 0), ("other", message.id, 0)}
        await harness.broker.announced([one for one in waiting if one.queue == QUEUE])
        assert [one.queue for one in await _pending(harness)] == ["other"]

    async def test_a_queue_with_announcements_may_be_forgotten(self, harness: Harness) -> None:
        message = await _put(harness)
        await harness.broker.cancel([message.id])
        await harness.broker.forget_queue(QUEUE)
        assert [one.id for one in await _pending(harness)] == [message.id]

    async def test_nothing_to_announce_is_no_error(self, harness: Harness) -> None:
        assert await harness.broker.announcements() == []
        await harness.broker.announced([])
        await harness.broker.announced([Announcement(
            id="f" * 32, queue=QUEUE, task=TASK, targets=TARGETS, ending=MessageState.DEAD, ended_at=0.0, place="",
        )])  # fmt: skip


async def _put(harness: Harness, **fields: Any) -> Any:
    return await harness.put(announce=TARGETS, **fields)


async def _pending(harness: Harness, broker: Any = None) -> list[Announcement]:
    """Every announcement that waits, as an announcer finds them at the latest after a crash of the others."""
    await harness.advance(10.0)
    return list(await (broker or harness.broker).announcements())


async def _endings(harness: Harness) -> dict[tuple[str, int], MessageState]:
    waiting = await _pending(harness)
    told = {(one.id, one.generation): one.ending for one in waiting}
    assert len(told) == len(waiting), f"an ending is there twice: {waiting}"
    return told


def _claim(harness: Harness, lease: Lease, announce: AnnounceRequest | None = None) -> ClaimRequest:
    message = decode(lease.envelope)
    return ClaimRequest(
        Scope.of(message), message.id, lease.owner, harness.lease_seconds, digest(message), announce=announce
    )


async def _sealed(harness: Harness, lease: Lease, result: bytes) -> bool:
    (answer,) = await harness.state.ledger.claim([_claim(harness, lease)])
    assert isinstance(answer, Fresh)
    request = AnnounceRequest.of(decode(lease.envelope))
    return await harness.state.ledger.seal([Seal(answer.token, result, announce=request)]) == [True]
