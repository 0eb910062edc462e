"""Claim checks: a body that is too large is kept elsewhere, for as long as its message can run.

What happens to such a body when its sender or its worker dies is in `checking_crashes`.
"""

import asyncio

import msgspec

from tenure import envelope
from tenure.message import MessageState, new_id
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.testing.conformance.worker.large_bodies import (
    LARGE,
    LIMIT,
    SMALL,
    names_of_bodies,
    stage_with_blob_store,
    tidy_up,
    until_empty,
)
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject

#: In which order things happen to one large message, as far as they happen.
_ORDER = (
    "blobs.leave", "broker.send", "broker.lease", "ledger.claim", "blobs.fetch", "run", "ledger.seal",
    "broker.ack", "blobs.discard",
)  # fmt: skip


class ClaimChecks:
    """Tests that a lost body loses no message and truncates no work."""

    async def test_a_large_body_reaches_its_handler_whole(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def measure(text: str) -> int:
                assert text in (LARGE, SMALL)
                return len(text)

            large = await stage.submit(measure.bind(LARGE))
            small = await stage.submit(measure.bind(SMALL))
            assert len(await names_of_bodies(stage)) == 1, "what fits takes no detour"
            stored = (await harness.record(large)).envelope
            assert stored is None or len(stored) < LIMIT, "the body went to the broker anyway"
            await stage.start()
            assert (await stage.ended(large)).result == b"5000"
            assert (await stage.ended(small)).result == b"50"
            await until_empty(stage)

    async def test_it_is_fetched_after_the_claim_and_discarded_after_the_ack(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> None:
                stage.note(f"run {len(text)}")

            await stage.submit(work.bind(LARGE), key="k")
            await stage.start()
            await until_empty(stage)
            happened = list(dict.fromkeys(word.partition(" ")[0] for word in stage.trace))
            told = [word for word in happened if word in _ORDER]
            assert told == [word for word in _ORDER if word in told], stage.trace
            assert {"blobs.leave", "blobs.fetch", "run", "blobs.discard"} <= set(told)

    async def test_while_the_blob_store_is_away_it_waits_uncounted(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task(max_attempts=1)
            async def work(text: str) -> int:
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            wire = stage.wire()
            wire.away("blobs.*")
            actor = await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("blobs.fetch") >= 3)
            record = await harness.record(id)
            assert record.state is not MessageState.DEAD
            assert (record.counters.attempts, record.counters.crashes, record.counters.lost) == (0, 0, 0)
            wire.back()
            assert (await stage.ended(id)).result == b"5000"
            await until_empty(stage)
            await stage.stop(actor)

    async def test_one_that_cannot_be_discarded_holds_nothing_up(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> int:
                return len(text)

            wire = stage.wire()
            wire.away("blobs.discard")
            actor = await stage.start(wire=wire)
            for _ in range(2):
                assert (await stage.ended(await stage.submit(work.bind(LARGE)))).state is MessageState.COMPLETED
            await stage.until(lambda: wire.said.count("blobs.discard") == 2)
            assert len(await names_of_bodies(stage)) == 2
            await stage.end(actor)
            await tidy_up(stage)
            assert await names_of_bodies(stage) == []

    async def test_a_missing_body_is_a_dead_letter_that_can_be_redriven(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> int:
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            assert stage.blob_store is not None
            (name,) = await names_of_bodies(stage)
            (body,) = await stage.blob_store.fetch([name])
            assert body is not None
            await stage.blob_store.discard([name])
            await stage.start()
            record = await stage.ended(id)
            assert record.state is MessageState.DEAD
            assert record.reason is not None
            assert record.reason.code == "body_missing"
            assert record.counters.attempts == 0, "nobody tried"
            if record.envelope is not None:
                ticket = envelope.decode(record.envelope).ticket
                assert ticket is not None
                assert ticket.size == len(body)
            await stage.blob_store.leave([(name, body)])
            assert await harness.broker.redrive([id]) == [id]
            assert (await stage.ended(id)).result == b"5000"
            await until_empty(stage)

    async def test_a_body_that_was_changed_is_not_run(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> None:
                stage.note(f"run with {text[:10]}")

            id = await stage.submit(work.bind(LARGE))
            assert stage.blob_store is not None
            (name,) = await names_of_bodies(stage)
            await stage.blob_store.leave([(name, msgspec.json.encode({"text": "z" * 5_000}))])
            await stage.start()
            record = await stage.ended(id)
            assert record.reason is not None
            assert record.reason.code == "body_damaged"
            assert not any(word.startswith("run") for word in stage.trace)
            assert await names_of_bodies(stage) == [name]

    async def test_the_body_of_a_dead_letter_stays_for_its_redrive(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> int:
                if stage.trace.count("run") == 0:
                    stage.note("run")
                    raise Reject
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            actor = await stage.start()
            assert (await stage.ended(id)).state is MessageState.DEAD
            await stage.end(actor)
            await tidy_up(stage)
            assert len(await names_of_bodies(stage)) == 1, "its body was discarded though it can run again"
            assert await harness.broker.redrive([id]) == [id]
            await stage.start()
            assert (await stage.ended(id)).result == b"5000"
            await until_empty(stage)

    async def test_a_retry_fetches_it_again(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task(max_attempts=2, retry_delay=1)
            async def work(ctx: Context, text: str) -> int:
                if ctx.attempt == 1:
                    raise RuntimeError
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            await stage.start()
            assert (await stage.ended(id)).result == b"5000"
            assert stage.trace.count("blobs.fetch") == 2
            await until_empty(stage)

    async def test_a_worker_without_a_blob_store_gives_it_back(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task(max_attempts=1)
            async def work(text: str) -> int:
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            poor = await stage.start(has_room=False)
            await stage.until(lambda: any(word.startswith("broker.give_back") for word in stage.trace))
            record = await harness.record(id)
            assert record.counters.attempts == 0
            assert [ending.reason.code for ending in record.history if ending.reason] == ["body_unreachable"]
            await stage.end(poor)
            await stage.start()
            assert (await stage.ended(id)).result == b"5000"

    async def test_a_key_knows_the_payload_and_not_the_ticket(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> None:
                stage.note("run" if text == LARGE else "run with another payload")

            first = await stage.submit(work.bind(LARGE), key="k")
            await stage.start()
            assert (await stage.ended(first)).state is MessageState.COMPLETED
            again = await stage.submit(work.bind(LARGE), key="k")
            assert (await stage.ended(again)).state is MessageState.COMPLETED
            assert stage.trace.count("run") == 1
            wall = harness.clock.wall()
            other: Options = {"key": "k"}
            out = outgoing(work.bind(LARGE + "!"), other, id=new_id(wall), client=None, sent_at=wall)
            (sent,) = await stage.send(out)
            if sent.refusal is not None:
                assert sent.refusal.code == "key_conflict"
            else:
                record = await stage.ended(sent.id)
                assert record.reason is not None
                assert record.reason.code == "key_conflict"
            assert stage.trace.count("run") == 1
            assert "run with another payload" not in stage.trace

    async def test_a_large_hand_off_goes_the_same_way(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:
            _with_hand_off(stage)
            first = await stage.submit(stage.tasks["work"].bind(SMALL))
            await stage.start()
            assert (await stage.ended(first)).state is MessageState.COMPLETED
            await stage.until(lambda: "followed 5000" in stage.trace)
            await until_empty(stage)

    async def test_a_large_hand_off_waits_for_the_blob_store_and_is_not_lost(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:
            _with_hand_off(stage)
            first = await stage.submit(stage.tasks["work"].bind(SMALL))
            wire = stage.wire()
            wire.away("blobs.leave")
            await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("blobs.leave") >= 3)
            await asyncio.sleep(2 * harness.lease_seconds)
            assert (await harness.record(first)).state is MessageState.LEASED, "done before its hand-off is safe"
            wire.back()
            await stage.until(lambda: "followed 5000" in stage.trace)
            assert stage.trace.count("run") == 1


def _with_hand_off(stage: Stage) -> None:
    @stage.task
    async def follow(text: str) -> None:
        stage.note(f"followed {len(text)}")

    @stage.task
    async def work(ctx: Context, text: str) -> None:
        stage.note("run")
        ctx.submit(follow.bind(100 * text))
