"""Failing: what becomes of a message whose handler does not return."""

import asyncio
import itertools

import msgspec

from tenure.message import Message, MessageState, Outgoing
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject, Retry


class Failing:
    """Tries again with growing pauses, and gives up with a reason that people can read."""

    async def test_an_error_is_tried_again_until_the_attempts_are_used(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ran_at: list[float] = []

            @stage.task(max_attempts=4, retry_delay=2.0)
            async def fail() -> None:
                ran_at.append(harness.clock.monotonic())
                msg = "the printer is on fire"
                raise OSError(msg)

            id = await stage.submit(fail.bind())
            await stage.start()
            record = await stage.ended(id)
            await asyncio.sleep(60)
            assert len(ran_at) == 4
            pauses = [later - earlier for earlier, later in itertools.pairwise(ran_at)]
            # Doubling from the first delay, with jitter on the upper half; delays may end up to 1 s late.
            bounds = [(full / 2 - 0.1, full + 1.1) for full in (2, 4, 8)]
            assert all(least <= pause <= most for pause, (least, most) in zip(pauses, bounds, strict=True)), pauses
            assert (record.state, record.counters.attempts) == (MessageState.DEAD, 4)
            assert record.reason is not None
            assert record.reason.code == "max_attempts"
            assert "4 of 4" in record.reason.text
            assert "the printer is on fire" in record.reason.text
            assert "raise OSError" in record.reason.traceback
            assert [ending.how for ending in record.history] == ["failed", "failed", "failed", "dead"]

    async def test_a_message_that_recovers_is_completed(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            attempts: list[int] = []

            @stage.task(max_attempts=5)
            async def flaky() -> str:
                attempts.append(1)
                if len(attempts) < 3:
                    raise TimeoutError
                return "at last"

            id = await stage.submit(flaky.bind())
            await stage.start()
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"at last"')
            assert len(attempts) == 3

    async def test_the_limit_of_the_message_beats_that_of_its_task(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task(max_attempts=10, retry_delay=0.1)
            async def fail() -> None:
                runs.append(None)
                raise RuntimeError

            id = await stage.submit(fail.bind(), max_attempts=2)
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.DEAD
            assert len(runs) == 2

    async def test_retry_names_the_moment_and_counts_an_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ran_at: list[float] = []

            @stage.task(max_attempts=3)
            async def later() -> None:
                ran_at.append(harness.clock.monotonic())
                if len(ran_at) == 1:
                    raise Retry(after=50, reason="the shop is closed")

            id = await stage.submit(later.bind())
            await stage.start()
            await stage.until(lambda: len(ran_at) == 1)
            await asyncio.sleep(2)
            record = await harness.record(id)
            assert (record.state, record.counters.attempts) == (MessageState.DELAYED, 1)
            assert record.reason is not None
            assert (record.reason.code, record.reason.text) == ("retry", "the shop is closed")
            await stage.ended(id)
            assert 49.9 <= ran_at[1] - ran_at[0] <= 51.1

    async def test_retry_for_ever_ends_with_the_dead_letters(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task(max_attempts=3)
            async def never() -> None:
                runs.append(None)
                raise Retry(after=0)

            id = await stage.submit(never.bind())
            await stage.start()
            record = await stage.ended(id)
            assert (record.state, len(runs)) == (MessageState.DEAD, 3)

    async def test_reject_goes_to_the_dead_letters_at_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=9)
            async def refuse() -> None:
                msg = "no such customer"
                raise Reject(msg)

            id = await stage.submit(refuse.bind())
            await stage.start()
            record = await stage.ended(id, within=1.0)
            assert (record.state, record.counters.attempts) == (MessageState.DEAD, 1)
            assert record.reason is not None
            assert (record.reason.code, record.reason.text) == ("rejected", "no such customer")

    async def test_errors_that_no_retry_mends_are_not_tried_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=9, reject_on=(LookupError,))
            async def look() -> None:
                raise KeyError("ada")

            id = await stage.submit(look.bind())
            await stage.start()
            record = await stage.ended(id, within=1.0)
            assert (record.state, record.counters.attempts) == (MessageState.DEAD, 1)
            assert record.reason is not None
            assert record.reason.code == "rejected"
            assert "KeyError: 'ada'" in record.reason.text

    async def test_a_payload_that_does_not_fit_is_dead_at_once_and_says_why(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def resize(image: str, width: int) -> str:
                runs.append(None)
                return image * width

            await stage.start()
            for body, said in ((b'{"image": "a"}', "width"), (b'{"image": 5, "width": 1}', "image"), (b"[]", "object")):
                id = await _send(harness, "resize", body)
                record = await stage.ended(id, within=1.0)
                assert (record.state, record.counters.attempts) == (MessageState.DEAD, 0)
                assert record.reason is not None
                assert record.reason.code == "payload_invalid"
                assert "resize(image, width)" in record.reason.text
                assert said in record.reason.text
            assert runs == []

    async def test_keys_that_the_handler_does_not_know_are_ignored(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def resize(image: str) -> str:
                return image

            await stage.start()
            id = await _send(harness, "resize", b'{"image": "a", "added_in_version_2": true}')
            assert (await stage.ended(id)).result == b'"a"'

    async def test_a_message_that_cannot_be_read_is_dead_with_its_raw_bytes(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None: ...

            broken, whole = [await stage.submit(work.bind()) for _ in range(2)]
            raw = await harness.damage(broken)
            await stage.start()
            record = await stage.ended(broken, within=1.0)
            assert (record.state, record.counters.attempts) == (MessageState.DEAD, 0)
            assert record.reason is not None
            assert record.reason.code == "body_undecodable"
            assert (await stage.ended(whole)).state is MessageState.COMPLETED
            if MessageState.DEAD in harness.traits.browsable:
                (dead,) = await harness.browse(QUEUE, MessageState.DEAD)
                assert (dead.id, dead.envelope) == (broken, raw)

    async def test_an_unknown_task_waits_for_a_worker_that_knows_it(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def known() -> None: ...

            id = await _send(harness, "from_the_next_release", b"{}")
            old = await stage.start()
            await stage.until(lambda: old.counts.get("given_back", 0) == 3)
            await asyncio.sleep(1)
            record = await harness.record(id)
            assert record.state is MessageState.DELAYED, "it must not be fetched again and again without a pause"
            assert (record.counters.attempts, record.counters.crashes, record.counters.lost) == (0, 0, 0)

            @stage.task
            async def from_the_next_release() -> str:
                return "deployed"

            await stage.stop(old)
            await stage.start()
            assert (await stage.ended(id, within=120)).result == b'"deployed"'

    async def test_what_a_living_worker_knows_is_left_to_it_however_long_it_takes(self, harness: Harness) -> None:
        """A deploy may rest half way: most workers do not know the task, and the one that does is busy."""
        async with Stage(harness) as stage:

            @stage.task
            async def known() -> None: ...

            old_tasks = dict(stage.tasks)

            @stage.task
            async def from_the_next_release(seconds: int) -> str:
                await asyncio.sleep(seconds)
                return "deployed"

            busy = await stage.submit(from_the_next_release.bind(round(harness.long_seconds)))
            await stage.start(concurrency=1)
            await stage.until(lambda: _is_leased(harness, busy))
            for _ in range(3):
                await stage.start(tasks=old_tasks)
            id = await stage.submit(from_the_next_release.bind(0))
            record = await stage.ended(id, within=harness.long_seconds + 400)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"deployed"')
            assert (record.counters.attempts, record.history) == (0, ())

    async def test_a_task_that_nobody_ever_knows_ends_with_the_dead_letters(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def known() -> None: ...

            id = await _send(harness, "gone", b"{}")
            await stage.start()
            await asyncio.sleep(60)
            assert (await harness.record(id)).state is not MessageState.DEAD, "a rolling deploy takes longer"
            record = await stage.ended(id, within=1800)
            assert record.state is MessageState.DEAD
            assert record.reason is not None
            assert record.reason.code == "unknown_task"
            assert "'gone'" in record.reason.text

    async def test_max_hold_ends_a_hung_handler_and_counts_an_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            began: list[float] = []
            ended: list[float] = []

            @stage.task(max_attempts=2, max_hold=3 * harness.lease_seconds, retry_delay=1)
            async def hang() -> None:
                began.append(harness.clock.monotonic())
                try:
                    await asyncio.sleep(1e6)
                finally:
                    ended.append(harness.clock.monotonic())

            id = await stage.submit(hang.bind())
            await stage.start()
            record = await stage.ended(id)
            held = [end - begin for begin, end in zip(began, ended, strict=True)]
            assert len(held) == 2
            assert all(abs(seconds - 3 * harness.lease_seconds) < 1 for seconds in held), held
            assert (record.state, record.counters.attempts) == (MessageState.DEAD, 2)
            assert record.reason is not None
            assert "max_hold" in record.reason.text


async def _is_leased(harness: Harness, id: str) -> bool:
    return (await harness.record(id)).state is MessageState.LEASED


async def _send(harness: Harness, task: str, body: bytes) -> str:
    """A message as another program, or another release, would send it."""
    message = Message(id=harness.message().id, queue=QUEUE, task=task, body=msgspec.Raw(body))
    await harness.broker.send([Outgoing(message)])
    return message.id
