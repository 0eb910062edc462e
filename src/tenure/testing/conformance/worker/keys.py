"""Keys: work with a key is done once, and never by two workers at a time."""

import asyncio

from tenure.message import Message, MessageState, Outgoing
from tenure.tasks.context import Context
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject


class WorkerKeys:
    """Done is done, and one at a time."""

    async def test_the_same_key_sent_again_is_not_run_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def charge(card: str) -> str:
                runs.append(None)
                return f"charged {card}"

            first = await stage.submit(charge.bind("4711"), key="order-7")
            await stage.start()
            await stage.ended(first)
            again = await stage.submit(charge.bind("4711"), key="order-7")
            record = await stage.ended(again)
            await asyncio.sleep(2 * harness.lease_seconds)
            assert len(runs) == 1
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"charged 4711"')

    async def test_a_second_message_under_a_done_key_is_reported_as_a_duplicate(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def charge() -> str:
                runs.append(None)
                return "charged"

            # Both are in the queue before anything is done: a send that knows keys would have refused the second.
            ids = await _send_twice(harness, charge.name)
            actor = await stage.start(concurrency=1)
            records = [await stage.ended(id) for id in ids]
            await stage.settled()
            assert len(runs) == 1
            assert [record.result for record in records] == [b'"charged"'] * 2
            assert (actor.counts.get("completed"), actor.counts.get("duplicate")) == (1, len(set(ids)) - 1 or None)

    async def test_a_key_that_runs_elsewhere_is_given_back_and_recognised_later(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task(max_attempts=1)
            async def long() -> str:
                runs.append(None)
                await asyncio.sleep(2.5 * harness.lease_seconds)
                return "once"

            ids = await _send_twice(harness, long.name)
            actors = [await stage.start(concurrency=1) for _ in range(2)]
            records = [await stage.ended(id) for id in ids]
            await stage.settled()
            assert len(runs) == 1
            assert [(record.state, record.result) for record in records] == [(MessageState.COMPLETED, b'"once"')] * 2
            assert all(record.counters.attempts == 0 for record in records)
            if ids[0] != ids[1]:
                assert sum(actor.counts.get("given_back", 0) for actor in actors) > 0
                await stage.until(lambda: sum(actor.counts.get("duplicate", 0) for actor in actors) == 1)

    async def test_a_key_whose_runner_died_is_taken_over_at_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            began: list[float] = []

            @stage.task
            async def work() -> None:
                began.append(harness.clock.monotonic())
                await asyncio.sleep(5)

            id = await stage.submit(work.bind(), key="k")
            doomed = await stage.start()
            await stage.until(lambda: len(began) == 1)
            await stage.kill(doomed)
            killed_at = harness.clock.monotonic()
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert began[1] - killed_at <= 3

    async def test_a_failed_attempt_frees_the_key_for_the_next_one(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            attempts: list[int] = []

            @stage.task(max_attempts=3, retry_delay=1)
            async def flaky(ctx: Context) -> None:
                attempts.append(ctx.attempt)
                if ctx.attempt < 3:
                    raise TimeoutError

            id = await stage.submit(flaky.bind(), key="k")
            await stage.start()
            record = await stage.ended(id, within=harness.lease_seconds / 2)
            assert (record.state, attempts) == (MessageState.COMPLETED, [1, 2, 3])

    async def test_a_dead_message_frees_its_key(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def refuse_once() -> None:
                runs.append(None)
                if len(runs) == 1:
                    msg = "not today"
                    raise Reject(msg)

            first = await stage.submit(refuse_once.bind(), key="k")
            await stage.start()
            assert (await stage.ended(first)).state is MessageState.DEAD
            second = await stage.submit(refuse_once.bind(), key="k")
            assert second != first
            assert (await stage.ended(second)).state is MessageState.COMPLETED
            assert len(runs) == 2

    async def test_a_redriven_message_is_run_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            generations: list[int] = []

            @stage.task
            async def work(ctx: Context) -> None:
                generations.append(ctx.message.generation)
                if len(generations) == 1:
                    msg = "not today"
                    raise Reject(msg)

            id = await stage.submit(work.bind(), key="k")
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.DEAD
            assert await harness.broker.redrive([id]) == [id]
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert generations == [0, 1]

    async def test_another_payload_under_the_same_key_is_never_run(self, harness: Harness) -> None:
        harness.need("keys_at_send", lambda knows: not knows)
        async with Stage(harness) as stage:
            runs: list[int] = []

            @stage.task
            async def work(number: int) -> None:
                runs.append(number)

            first = await stage.submit(work.bind(1), key="k")
            await stage.start()
            await stage.ended(first)
            record = await stage.ended(await stage.submit(work.bind(2), key="k"))
            assert (record.state, runs) == (MessageState.DEAD, [1])
            assert record.reason is not None
            assert record.reason.code == "key_conflict"


async def _send_twice(harness: Harness, task: str) -> list[str]:
    """Two messages of the same key and payload; their ids are the same where `send` recognises keys."""
    body = harness.message(body={}).body
    messages = [Message(id=harness.message().id, queue=QUEUE, task=task, body=body, key="k") for _ in range(2)]
    return [sent.id for message in messages for sent in await harness.broker.send([Outgoing(message)])]
