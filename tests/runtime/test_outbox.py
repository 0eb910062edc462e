"""Settling: seal first, then settle; nothing is lost in an outage, nothing is done twice."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure.claim import ClaimRequest, Done, Fresh, Scope, digest
from tenure.envelope import decode
from tenure.errors import BrokerUnavailable, QueueGone, StoreReplaced
from tenure.message import Message, MessageState, Outgoing
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership import Ownership
from tenure.runtime.path.outbox import Outbox
from tenure.settlement import Ack, GiveBack, Outcome, Settlement
from tenure.testing.harness import BROKEN, Harness
from tenure.testing.wire import Wire
from tenure.verdict import Completed, Dead, Duplicate, Lost, Reason, Retried, Returned, Verdict


class Bench:
    """An outbox with its heartbeat, and what it reported."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.order: list[str] = []
        self.wire = Wire(harness.broker, harness.state, lambda name, _arguments, _answer: self.order.append(name))
        self.owner = harness.stranger()
        self.reported: list[tuple[Delivery, Settlement | None]] = []
        self.heartbeat = Heartbeat(
            self.wire.broker,
            self.wire.state.ledger,
            harness.clock,
            on_lost=lambda _: None,
            on_overheld=lambda _: None,
            on_failed=lambda *_: None,
        )
        broker, state, clock = self.wire.broker, self.wire.state, harness.clock
        ownership = Ownership(broker, state.ledger, clock, wall=state.wall, has_presence=True)
        self.outbox = Outbox(ownership, self.heartbeat, clock, self, batch_limit=broker.traits.batch_limit)

    def report(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        self.reported += settled

    @property
    def outcomes(self) -> list[Outcome | None]:
        return [None if settlement is None else settlement.outcome for _, settlement in self.reported]

    async def delivery(self, **fields: Any) -> Delivery:
        delivery = Delivery(await self.harness.leased(self.owner, **fields))
        message = delivery.message = decode(delivery.lease.envelope)
        if message.key is not None or not self.harness.traits.settles_exactly_once:
            request = ClaimRequest(Scope.of(message), message.id, self.owner, 30.0, digest(message))
            (answer,) = await self.harness.state.ledger.claim([request])
            assert isinstance(answer, Fresh)
            delivery.token = answer.token
        self.heartbeat.hold([delivery])
        return delivery


@asynccontextmanager
async def settling(harness: Harness) -> AsyncIterator[Bench]:
    bench = Bench(harness)
    tasks = [asyncio.create_task(bench.outbox.run()), asyncio.create_task(bench.heartbeat.run())]
    yield bench
    dead = [task.exception() for task in tasks if task.done()]
    assert not dead, f"a part has died: {dead}"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def state_of(harness: Harness, delivery: Delivery) -> MessageState:
    return await harness.state_of(delivery.id)


@pytest.mark.parametrize(("code", "kept"), [
    ("unknown_task", True), ("child_failed", True), ("configuration", True),
    ("running_elsewhere", False), ("running_here", False), ("worker_stopping", False), ("broker_unavailable", False),
    ("concurrency", False), ("lease_lapsed", False),
])  # fmt: skip
async def test_only_what_people_must_mend_stays_in_the_history_of_a_give_back(
    harness: Harness, code: str, kept: bool
) -> None:
    async with settling(harness) as bench:
        delivery = await bench.delivery()
        reason = Reason(code, "why")
        bench.outbox.put(delivery, Returned(5.0, reason))
        await asyncio.sleep(1)
        record = await harness.record(delivery.id)
        assert record.reason == (reason if kept else None)
        assert [(ending.how, ending.reason) for ending in record.history] == ([("given_back", reason)] if kept else [])


async def test_each_verdict_has_its_word(harness: Harness) -> None:
    async with settling(harness) as bench:
        deliveries = [await bench.delivery() for _ in range(5)]
        verdicts: list[Verdict] = [
            Completed(b"1"),
            Retried(60.0, BROKEN),
            Dead(BROKEN, counted=True),
            Returned(60.0, BROKEN),
            Lost(),
        ]
        for delivery, verdict in zip(deliveries, verdicts, strict=True):
            bench.outbox.put(delivery, verdict)
        await asyncio.sleep(1)
        records = [await harness.record(delivery.id) for delivery in deliveries]
        states = [record.state.value for record in records]
        assert states == ["completed", "delayed", "dead", "delayed", "leased"]
        assert [record.counters.attempts for record in records] == [0, 1, 1, 0, 0]
        assert bench.outcomes == [Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD, Outcome.RETURNED, None]


async def test_verdicts_that_gather_during_a_flush_go_in_one_call(harness: Harness) -> None:
    async with settling(harness) as bench:
        deliveries = [await bench.delivery() for _ in range(20)]
        for delivery in deliveries:
            bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(1)
        assert bench.order == ["broker.ack"]
        assert len(bench.reported) == 20


async def test_a_call_holds_no_more_than_the_broker_takes(small: Harness) -> None:
    async with settling(small) as bench:
        follow = [Outgoing(small.message(queue="next")) for _ in range(7)]
        deliveries = [await bench.delivery() for _ in range(7)]
        for delivery in deliveries:
            bench.outbox.put(delivery, Completed(b"1", tuple(follow)))
        sizes: list[tuple[str, int]] = []
        bench.wire.spy = lambda name, arguments: sizes.append((name, len(arguments[0])))
        await asyncio.sleep(1)
        assert max(size for _, size in sizes) <= small.traits.batch_limit
        assert (await small.depth("next")).ready == 7
        assert bench.outcomes == [Outcome.DELETED] * 7


async def test_the_ledger_comes_before_the_broker(loose: Harness) -> None:
    async with settling(loose) as bench:
        bench.outbox.put(await bench.delivery(), Completed(b"1", (Outgoing(loose.message(queue="next")),)))
        await asyncio.sleep(1)
        assert bench.order == ["ledger.seal", "broker.send", "broker.ack"]


async def test_a_claim_is_released_before_the_nack(loose: Harness) -> None:
    async with settling(loose) as bench:
        bench.outbox.put(await bench.delivery(), Retried(0.0, BROKEN))
        await asyncio.sleep(1)
        assert bench.order == ["ledger.release", "broker.nack"]


async def test_the_key_of_a_dead_message_is_free(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery(key="k")
        bench.outbox.put(delivery, Dead(BROKEN))
        await asyncio.sleep(1)
        assert bench.order == ["ledger.release", "ledger.forget", "broker.dead_letter"]
        assert isinstance(await _ask(loose, delivery), Fresh)


async def test_a_duplicate_is_deleted_and_its_hand_offs_sent_if_they_were_not(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = Delivery(await loose.leased(bench.owner))
        bench.outbox.put(delivery, Duplicate(b"1", (Outgoing(loose.message(queue="next")),)))
        await asyncio.sleep(1)
        assert bench.order == ["broker.send", "broker.ack"]
        assert (await loose.depth("next")).ready == 1


async def test_a_lost_lease_settles_nothing(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery()
        delivery.lease_lost = True
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(1)
        assert (bench.order, bench.outcomes) == ([], [None])


async def test_whoever_lost_the_claim_settles_nothing(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery, other = await bench.delivery(), await bench.delivery()
        assert delivery.token is not None
        await loose.state.ledger.release([delivery.token])
        assert isinstance(await _ask(loose, delivery), Fresh)  # by somebody else
        for one in (delivery, other):
            bench.outbox.put(one, Completed(b"1"))
        await asyncio.sleep(1)
        assert bench.outcomes == [None, Outcome.DELETED]
        assert (delivery.claim_lost, delivery.sealed, other.sealed) == (True, False, True)
        assert await state_of(loose, delivery) is MessageState.LEASED


async def test_a_stale_holder_changes_nothing_and_says_so(harness: Harness) -> None:
    async with settling(harness) as bench:
        delivery = await bench.delivery()
        await harness.broker.give_back([GiveBack(delivery.lease)])
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(1)
        assert bench.outcomes == [Outcome.ALREADY_GONE]
        assert await state_of(harness, delivery) is MessageState.READY


# --- outages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("away", ["broker.*", "ledger.*", "*"])
async def test_a_verdict_waits_and_its_lease_is_kept_while_a_store_is_away(loose: Harness, away: str) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery()
        bench.outbox.put(delivery, Completed(b"1"))
        bench.wire.away(away)
        await asyncio.sleep(100)
        assert bench.reported == []
        assert len(bench.heartbeat) == 1
        if away == "ledger.*":
            assert (await loose.record(delivery.id)).deadline_in == pytest.approx(30.0, abs=20.0)
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.DELETED]
        assert delivery.sealed
        assert len(bench.heartbeat) == 0


async def test_what_waits_for_a_store_is_held_and_settled_by_its_latest_lease(harness: Harness) -> None:
    async with settling(harness) as bench:
        deadlines: list[float] = []

        def spy(name: str, arguments: tuple[Any, ...]) -> None:
            if name in ("broker.touch", "broker.ack"):
                deadlines.extend(one.lease.deadline if isinstance(one, Ack) else one.deadline for one in arguments[0])

        bench.wire.spy = spy
        delivery = await bench.delivery()
        await asyncio.sleep(25)  # two beats
        bench.wire.away("broker.ack")
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(25)
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.DELETED]
        assert len(deadlines) > 3
        assert deadlines == sorted(deadlines)


async def test_what_was_settled_before_the_failure_is_not_settled_again(harness: Harness) -> None:
    async with settling(harness) as bench:
        done, failed = await bench.delivery(), await bench.delivery()
        bench.wire.away("broker.nack")
        bench.outbox.put(done, Completed(b"1"))
        bench.outbox.put(failed, Retried(60.0, BROKEN))
        await asyncio.sleep(5)
        assert await state_of(harness, done) is MessageState.COMPLETED
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.order.count("broker.ack") == 1
        assert bench.order.count("broker.nack") == 1
        assert bench.outcomes == [Outcome.DELETED, Outcome.RETURNED]


async def test_what_cannot_be_settled_at_all_does_not_wait_for_what_is_away(harness: Harness) -> None:
    async with settling(harness) as bench:
        failed, bad = await bench.delivery(), await bench.delivery()
        errors: dict[str, Exception] = {
            "broker.ack": ValueError("the store takes no such result"),
            "broker.nack": BrokerUnavailable("no answer", outcome_unknown=True),
        }

        def spy(name: str, _arguments: tuple[Any, ...]) -> None:
            if name in errors:
                raise errors[name]

        bench.wire.spy = spy
        bench.outbox.put(failed, Retried(60.0, BROKEN))
        bench.outbox.put(bad, Completed(b"1"))
        await asyncio.sleep(5)
        assert await state_of(harness, bad) is MessageState.DEAD
        assert await state_of(harness, failed) is MessageState.LEASED
        del errors["broker.nack"]
        await asyncio.sleep(3)
        assert await state_of(harness, failed) is MessageState.DELAYED


async def test_a_nack_without_an_answer_is_not_called_too_late_where_another_word_was_away(harness: Harness) -> None:
    async with settling(harness) as bench:
        done, failed = await bench.delivery(), await bench.delivery()
        bench.wire.away("broker.ack")
        bench.wire.lose_replies("broker.nack")
        bench.outbox.put(done, Completed(b"1"))
        bench.outbox.put(failed, Retried(60.0, BROKEN))
        await asyncio.sleep(0.01)
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.DELETED, Outcome.UNKNOWN]
        assert await state_of(harness, failed) is MessageState.DELAYED


async def test_each_message_is_reported_once_over_an_outage(harness: Harness) -> None:
    async with settling(harness) as bench:
        deliveries = [await bench.delivery() for _ in range(3)]
        bench.wire.away()
        for delivery in deliveries:
            bench.outbox.put(delivery, Completed(b"1"))
            await asyncio.sleep(5)
        bench.wire.back()
        await asyncio.sleep(5)
        assert sorted(delivery.id for delivery, _ in bench.reported) == sorted(one.id for one in deliveries)


async def test_a_seal_whose_answer_was_lost_is_still_a_seal(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery()
        bench.wire.lose_replies("ledger.seal", 2)
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(3)
        assert (bench.outcomes, delivery.sealed) == ([Outcome.DELETED], True)
        assert await _ask(loose, delivery) == Done(b"1")


async def test_a_seal_is_not_said_again_once_it_was_answered(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery()
        bench.wire.away("broker.ack")
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(60)
        assert bench.order.count("ledger.seal") == 1
        assert not delivery.is_gone, "the heartbeat took a sealed claim for a lost one"
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.DELETED]


async def test_a_released_claim_may_be_taken_by_others_while_the_nack_waits(loose: Harness) -> None:
    async with settling(loose) as bench:
        delivery = await bench.delivery(key="k")
        bench.wire.away("broker.nack")
        bench.outbox.put(delivery, Retried(60.0, BROKEN))
        await asyncio.sleep(5)
        assert isinstance(await _ask(loose, delivery), Fresh)
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.RETURNED]
        assert (await loose.record(delivery.id)).counters.attempts == 1


async def test_an_ack_whose_answer_was_lost_is_not_called_too_late(harness: Harness) -> None:
    async with settling(harness) as bench:
        delivery = await bench.delivery()
        bench.wire.lose_replies("broker.ack")
        bench.outbox.put(delivery, Completed(b"1"))
        await asyncio.sleep(3)
        assert bench.outcomes == [Outcome.UNKNOWN]
        assert await state_of(harness, delivery) is MessageState.COMPLETED


async def test_a_hand_off_that_is_refused_is_a_dead_letter_and_said(
    loose: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    async with settling(loose) as bench:
        large = loose.message(queue="next", body={"x": "y" * 2_000_000})
        bench.outbox.put(await bench.delivery(), Completed(b"1", (Outgoing(large),)))
        await asyncio.sleep(1)
        assert bench.outcomes == [Outcome.DELETED]
        record = await loose.record(large.id)
        assert record.state is MessageState.DEAD
        assert record.reason is not None
        assert record.reason.code == "body_too_large"
    assert "a hand-off was moved to the dead letters of next" in caplog.text


async def test_a_hand_off_that_is_refused_among_others_is_a_dead_letter_and_the_others_are_sent(loose: Harness) -> None:
    async with settling(loose) as bench:
        large, small = loose.message(queue="next", body={"x": "y" * 2_000_000}), loose.message(queue="next")
        bench.outbox.put(await bench.delivery(), Completed(b"1", (Outgoing(large), Outgoing(small))))
        await asyncio.sleep(1)
        assert bench.outcomes == [Outcome.DELETED]
        assert await loose.state_of(large.id) is MessageState.DEAD
        assert await loose.state_of(small.id) is MessageState.READY


async def test_a_hand_off_is_sent_once_more_where_its_queue_was_just_found_gone(loose: Harness) -> None:
    """A broker that makes its queues learns by the first failure that this one is missing."""
    async with settling(loose) as bench:
        failures = [QueueGone("it was deleted")]

        def spy(name: str, _arguments: tuple[Any, ...]) -> None:
            if name == "broker.send" and failures:
                raise failures.pop()

        bench.wire.spy = spy
        handed_on = loose.message(queue="next")
        bench.outbox.put(await bench.delivery(), Completed(b"1", (Outgoing(handed_on),)))
        await asyncio.sleep(1)
        assert bench.outcomes == [Outcome.DELETED]
        assert await loose.state_of(handed_on.id) is MessageState.READY


async def test_a_store_that_was_replaced_ends_settling_and_blames_no_message(harness: Harness) -> None:
    bench = Bench(harness)

    def spy(name: str, _arguments: tuple[Any, ...]) -> None:
        if name == "broker.ack":
            msg = "the file was replaced"
            raise StoreReplaced(msg)

    bench.wire.spy = spy
    delivery = await bench.delivery()
    bench.outbox.put(delivery, Completed(b"1"))
    with pytest.raises(StoreReplaced):
        await bench.outbox.run()
    assert bench.wire.said == ["broker.ack"]
    assert delivery.verdict == Completed(b"1")


async def _ask(harness: Harness, delivery: Delivery) -> object:
    """What the ledger tells somebody else who wants to run the same."""
    message: Message = decode(delivery.lease.envelope)
    request = ClaimRequest(Scope.of(message), "another", harness.stranger(), 300.0, digest(message))
    (answer,) = await harness.state.ledger.claim([request])
    return answer
