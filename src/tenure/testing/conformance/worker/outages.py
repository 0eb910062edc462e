"""Outages: while a store is away work goes on and verdicts wait; an answer that is lost costs nothing."""

import asyncio

from tenure.claim import ClaimRequest, Fresh, Scope, digest
from tenure.message import Message, MessageState
from tenure.tasks.context import Context
from tenure.testing.harness import Harness, NotApplicable
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Reject


class Outages:
    """Broker and ledger come and go."""

    async def test_an_outage_longer_than_the_lease_neither_loses_nor_repeats_a_run(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[int] = []

            @stage.task
            async def work(ctx: Context) -> None:
                runs.append(ctx.attempt)
                await asyncio.sleep(4 * harness.lease_seconds)

            id = await stage.submit(work.bind())
            actors = [await stage.start(), await stage.start()]
            await stage.until(lambda: runs == [1])
            await asyncio.sleep(1)
            await _outage(actors, 2.5 * harness.lease_seconds)
            record = await stage.ended(id)
            await asyncio.sleep(3 * harness.lease_seconds)
            assert (record.state, runs) == (MessageState.COMPLETED, [1])
            assert sum(actor.counts.get("completed", 0) for actor in actors) == 1
            assert sum(actor.counts.get("heartbeat_failed", 0) for actor in actors) > 0

    async def test_a_verdict_of_every_kind_waits_until_the_broker_is_back(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[str] = []

            @stage.task(max_attempts=2, retry_delay=1)
            async def work(ctx: Context, how: str) -> str:
                runs.append(how)
                await asyncio.sleep(5)
                if how == "reject":
                    raise Reject(how)
                if how == "retry" and ctx.attempt == 1:
                    raise RuntimeError(how)
                return how

            ids = {how: await stage.submit(work.bind(how)) for how in ("complete", "retry", "reject")}
            actors = [await stage.start(), await stage.start()]
            await stage.until(lambda: len(runs) == 3)
            await asyncio.sleep(1)
            await _outage(actors, 2.5 * harness.lease_seconds)
            records = {how: await stage.ended(id) for how, id in ids.items()}
            await asyncio.sleep(2 * harness.lease_seconds)
            assert sorted(runs) == ["complete", "reject", "retry", "retry"]
            assert records["complete"].result == b'"complete"'
            assert records["retry"].result == b'"retry"'
            assert records["reject"].state is MessageState.DEAD
            counts = [actor.counts for actor in actors]
            assert [sum(one.get(kind, 0) for one in counts) for kind in ("completed", "retried", "dead")] == [2, 1, 1]

    async def test_one_store_away_does_not_let_the_other_lapse(self, harness: Harness) -> None:
        if harness.traits.settles_exactly_once:
            raise NotApplicable("lease and claim are one here")
        for away in ("broker.*", "ledger.*"):
            async with Stage(harness, queue=f"without-{away[:6]}") as stage:

                @stage.task
                async def work() -> None:
                    stage.note("run")
                    await asyncio.sleep(2 * harness.lease_seconds)

                id = await stage.submit(work.bind())
                actor = await stage.start()
                await asyncio.sleep(1)
                assert actor.worker.in_flight == 1
                await stage.start()
                # Only the worker that runs it is cut off, and only from one of its stores.
                actor.wire.away(away)
                await asyncio.sleep(2.4 * harness.lease_seconds)
                actor.wire.back()
                assert (await stage.ended(id)).state is MessageState.COMPLETED
                await asyncio.sleep(2 * harness.lease_seconds)
                assert stage.trace.count("run") == 1, f"{away} away: it was run again"
                assert actor.counts.get("completed") == 1

    async def test_a_verdict_that_waits_for_the_ledger_keeps_its_lease(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                stage.note("run")
                await asyncio.sleep(5)

            id = await stage.submit(work.bind(), key="k")
            actor = await stage.start()
            await stage.until(lambda: "run" in stage.trace)
            # Nor does it lease: else it might take what it lost itself, again and again, unseen.
            actor.wire.away("ledger.*", "broker.lease")
            await stage.start()
            await asyncio.sleep(2.4 * harness.lease_seconds)
            actor.wire.back()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            await asyncio.sleep(harness.lease_seconds)
            assert stage.trace.count("run") == 1, "its lease lapsed while its verdict waited"
            assert actor.counts.get("completed") == 1

    async def test_a_worker_cut_off_alone_cannot_settle_what_another_took_over(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> str:
                name = "second" if "cut off" in stage.trace else "first"
                stage.note(f"{name} run")
                await asyncio.sleep(5)
                return name

            id = await stage.submit(work.bind())
            lonely = await stage.start()
            await stage.until(lambda: "first run" in stage.trace)
            lonely.wire.away()
            stage.note("cut off")
            await stage.start()
            assert (await stage.ended(id)).result == b'"second"'
            lonely.wire.back()
            await asyncio.sleep(harness.lease_seconds)
            assert (await harness.record(id)).result == b'"second"'
            assert lonely.counts.get("completed") is None

    async def test_what_a_lost_reply_lent_is_run(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            began: list[float] = []

            @stage.task
            async def work() -> None:
                began.append(harness.clock.monotonic())

            ids = [await stage.submit(work.bind()) for _ in range(3)]
            wire = stage.wire()
            wire.lose_replies("broker.lease", 2)
            started = harness.clock.monotonic()
            await stage.start(wire=wire)
            for id in ids:
                assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert len(began) == 3
            assert max(began) - started < harness.lease_seconds / 3, "they waited for their lease to lapse"

    async def test_what_a_lost_reply_lent_is_run_though_the_broker_stays_away(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[float] = []

            @stage.task
            async def work() -> None:
                runs.append(harness.clock.monotonic())

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.lose_replies("broker.lease")
            wire.away("broker.held")
            await stage.start(wire=wire)
            await asyncio.sleep(5)
            wire.back()
            back = harness.clock.monotonic()
            await stage.ended(id)
            assert runs[0] - back < 5, "it was forgotten, and waited for its lease to lapse"

    async def test_a_lost_answer_to_any_word_on_the_path_does_nothing_twice(self, harness: Harness) -> None:
        words = (
            "broker.lease", "ledger.claim", "broker.touch", "ledger.renew", "ledger.seal", "ledger.release",
            "ledger.forget", "broker.send", "broker.ack", "broker.nack", "broker.dead_letter", "records.progress",
        )  # fmt: skip
        for word in words:
            async with Stage(harness, queue=f"lost-{word}".replace(".", "-").replace("_", "-")) as stage:
                runs: list[tuple[str, int]] = []

                @stage.task(queue=f"{stage.queue}-next")
                async def follow() -> None: ...

                @stage.task(max_attempts=3, retry_delay=1)
                async def work(ctx: Context, how: str) -> None:
                    runs.append((how, ctx.attempt))  # noqa: B023 - the worker ends within this turn
                    ctx.progress(0.5)
                    ctx.submit(follow.bind())
                    await asyncio.sleep(harness.lease_seconds / 2)
                    if how == "reject":
                        raise Reject(how)
                    if how == "retry" and ctx.attempt == 1:
                        raise RuntimeError(how)

                wire = stage.wire()
                wire.lose_replies(word, 2)
                ids = {how: await stage.submit(work.bind(how), key=how) for how in ("complete", "retry", "reject")}
                actor = await stage.start(wire=wire)
                states = {how: (await stage.ended(id)).state for how, id in ids.items()}
                await stage.settled()
                await asyncio.sleep(2 * harness.lease_seconds)
                completed = MessageState.COMPLETED
                assert states == {"complete": completed, "retry": completed, "reject": MessageState.DEAD}, word
                assert sorted(runs) == [("complete", 1), ("reject", 1), ("retry", 1), ("retry", 2)], word
                assert (await harness.depth(f"{stage.queue}-next")).ready == 2, f"{word}: each hand-off once"
                assert actor.counts["completed"] == 2, f"{word}: what was sealed is told as completed"

    async def test_a_ledger_that_is_away_lets_nothing_in_that_needs_its_word(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def work() -> None:
                runs.append(None)

            wire = stage.wire()
            wire.away("ledger.*")
            id = await stage.submit(work.bind(), key="k")
            # So that no lease comes with its claim. It has lapsed when the ledger is back.
            message = Message(id="another", queue=stage.queue, task="work", body=work.bind().body, key="k")
            stranger = (await harness.owner()).id
            request = ClaimRequest(Scope.of(message), message.id, stranger, 15.0, digest(message))
            (answer,) = await harness.state.ledger.claim([request])
            assert isinstance(answer, Fresh)
            await stage.start(wire=wire)
            await asyncio.sleep(20)
            record = await harness.record(id)
            assert (runs, record.counters.attempts) == ([], 0)
            assert record.state is not MessageState.DEAD
            wire.back()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert len(runs) == 1

    async def test_nothing_is_returned_right_after_an_outage(self, harness: Harness) -> None:
        # Longer than the outage, and not longer than the store lets a message be held.
        seconds = min(6 * harness.lease_seconds, 0.9 * (harness.traits.max_hold_seconds or float("inf")))
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(seconds)

            ids = [await stage.submit(work.bind()) for _ in range(4)]
            actors = [await stage.start(concurrency=2), await stage.start(concurrency=2)]
            await stage.until(lambda: all(actor.worker.in_flight == 2 for actor in actors))
            await asyncio.sleep(1)
            await _outage(actors, 2 * harness.lease_seconds, apart=2.0)
            for id in ids:
                assert (await stage.ended(id)).counters.lost == 0
            assert sum(actor.counts["completed"] for actor in actors) == 4


async def _outage(actors: list[Actor], seconds: float, apart: float = 0.0) -> None:
    """Everything is away for everybody; they come back one after the other."""
    for actor in actors:
        actor.wire.away()
    await asyncio.sleep(seconds)
    for actor in actors:
        actor.wire.back()
        await asyncio.sleep(apart)
