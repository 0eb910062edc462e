"""A worker that lost a part must not look alive."""

import asyncio
from typing import Any

import pytest

from tenure import Context
from tenure.message import MessageState
from tenure.runtime.stopping import HURRY_SECONDS
from tenure.testing.harness import Harness
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Reject

from .at_work import break_at


@pytest.mark.parametrize(
    "word",
    [
        "broker.lease",
        "broker.touch",
        "broker.ack+broker.dead_letter",
        "broker.sweep",
        "roster.members",
        "journal.append",
        "records.progress",
    ],
)
async def test_a_worker_that_lost_a_part_ends_and_says_so(
    harness: Harness, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:
        runs: list[None] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(None)
            ctx.progress(0.5)
            await asyncio.sleep(15 if len(runs) == 1 else 1)

        id = await stage.submit(work.bind())
        actor = await stage.start(concurrency=2)
        await stage.until(lambda: len(runs) == 1)
        break_at(actor, word)
        await asyncio.sleep(30)
        with pytest.raises(ZeroDivisionError, match="a bug in"):
            async with asyncio.timeout(0.1):  # it ended by itself, long ago
                await actor.worker.stop()
        assert "died; the worker stops" in caplog.text
        assert actor.worker.owner_id not in await harness.living()
        await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED, "what it held was lost with it"


async def test_run_raises_what_a_part_died_of(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        running = asyncio.create_task(_wait_and_stop(actor))
        break_at(actor, "broker.sweep")
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(30):
                await running


async def test_a_run_that_cannot_be_concluded_ends_the_worker(
    harness: Harness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would keep its slot and its lease for ever, in a worker that looks well."""
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()

        def conclude(*_: object) -> None:
            msg = "a bug in conclude"
            raise ZeroDivisionError(msg)

        monkeypatch.setattr(actor.worker._path.outbox, "put", conclude)
        id = await stage.submit(work.bind())
        with pytest.raises(ZeroDivisionError, match="a bug in conclude"):
            async with asyncio.timeout(HURRY_SECONDS + 30):
                await _wait_and_stop(actor)
        assert "handling died; the worker stops" in caplog.text
        await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED, "what it held was lost with it"


async def _wait_and_stop(actor: Actor) -> None:
    """What `run` does after `start`."""
    await actor.worker.asked_to_stop()
    await actor.worker.stop()


async def test_what_cannot_be_settled_is_put_aside_and_ends_nobody(harness: Harness) -> None:
    """One message must not end every worker that gets it."""
    async with Stage(harness) as stage:

        @stage.task
        async def work(number: int) -> int:
            return number

        ids = [await stage.submit(work.bind(number)) for number in range(5)]
        actor = await stage.start(concurrency=5)

        def spy(name: str, arguments: tuple[Any, ...]) -> None:
            if name == "broker.ack" and any(ack.lease.id == ids[2] for ack in arguments[0]):
                msg = "this one cannot be stored"
                raise OverflowError(msg)

        actor.wire.spy = spy
        records = [await stage.ended(id) for id in ids]
        assert [record.state.value for record in records].count("completed") == 4
        assert records[2].reason is not None
        assert (records[2].reason.code, records[2].state.value) == ("unsettleable", "dead")
        await actor.worker.stop()


async def test_a_handler_that_raises_what_ends_programs_ends_only_itself(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(max_attempts=1)
        async def work(kind: str) -> None:
            raise {"keyboard": KeyboardInterrupt, "exit": SystemExit, "generator": GeneratorExit}[kind]

        ids = [await stage.submit(work.bind(kind)) for kind in ("keyboard", "exit", "generator")]
        await stage.start()
        records = [await stage.ended(id) for id in ids]
        assert [record.reason.code for record in records if record.reason is not None] == ["max_attempts"] * 3


async def test_where_lease_and_claim_are_one_only_the_dead_lettering_frees_the_key(harness: Harness) -> None:
    """A worker that is no longer the holder must not free it by a call of its own."""
    async with Stage(harness) as stage:
        words: list[str] = []

        @stage.task
        async def work() -> None:
            msg = "never"
            raise Reject(msg)

        id = await stage.submit(work.bind(), key="k")
        actor = await stage.start()
        actor.wire.spy = lambda name, _arguments: words.append(name)
        assert (await stage.ended(id)).state.value == "dead"
        await asyncio.sleep(1)
        assert harness.traits.settles_exactly_once
        assert "broker.dead_letter" in words
        assert "ledger.forget" not in words


async def test_a_part_that_is_cancelled_by_others_ends_the_worker(harness: Harness) -> None:
    async with Stage(harness) as stage:
        actor = await stage.start()
        await asyncio.sleep(1)
        actor.worker._jobs[1].cancel()  # the outbox
        await asyncio.sleep(1)
        with pytest.raises(RuntimeError, match="from outside the worker"):
            await actor.worker.stop()


async def test_without_an_outbox_the_end_does_not_wait_for_it(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(1)

        await stage.submit(work.bind())
        actor = await stage.start(grace=1000)
        await stage.until(lambda: actor.worker.in_flight == 1)
        break_at(actor, "broker.ack+broker.dead_letter")
        await asyncio.sleep(1.5)
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(HURRY_SECONDS + 1):
                await actor.worker.stop()
