"""Claim checks: a body that is too large lies elsewhere, for as long as its message can run.

The broker is said to take few bytes, so that it is the same on all of them. Also killed anywhere: sender and worker are
stopped just before and just after every single call that they make.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tenure import assembly, envelope
from tenure.call import Options, outgoing
from tenure.claim_check import ClaimCheck
from tenure.context import Context
from tenure.message import MessageState, new_id
from tenure.runtime.tidying import Tidier
from tenure.testing.conformance.worker.contexts import payments, user_database
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject

#: The largest envelope that goes to the broker, and a body that does not fit.
LIMIT = 2_000
LARGE = "x" * 5_000
SMALL = "y" * 50


@asynccontextmanager
async def _stage(harness: Harness, queue: str | None = None) -> AsyncIterator[Stage]:
    stage = Stage(harness) if queue is None else Stage(harness, queue)
    stage.cloakroom = assembly.cloakroom("memory://", clock=harness.clock)
    stage.body_limit = LIMIT
    async with stage:
        yield stage


async def _names(stage: Stage) -> list[str]:
    assert stage.cloakroom is not None
    return [left.name for left in await stage.cloakroom.browse()]


async def _is_empty(stage: Stage) -> None:
    """The body is discarded after the ack, not with it."""

    async def is_empty() -> bool:
        return not await _names(stage)

    await stage.until(is_empty)


class ClaimChecks:
    """Nothing is truncated, nothing is lost."""

    async def test_a_large_body_reaches_its_handler_whole(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def measure(text: str) -> int:
                assert text in (LARGE, SMALL)
                return len(text)

            large = await stage.submit(measure.bind(LARGE))
            small = await stage.submit(measure.bind(SMALL))
            assert len(await _names(stage)) == 1, "what fits takes no detour"
            stored = (await harness.record(large)).envelope
            assert stored is None or len(stored) < LIMIT, "the body went to the broker all the same"
            await stage.start()
            assert (await stage.ended(large)).result == b"5000"
            assert (await stage.ended(small)).result == b"50"
            await _is_empty(stage)

    async def test_it_is_fetched_after_the_claim_and_discarded_after_the_ack(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def work(text: str) -> None:
                stage.note(f"run {len(text)}")

            await stage.submit(work.bind(LARGE), key="k")
            await stage.start()
            await _is_empty(stage)
            happened = list(dict.fromkeys(word.partition(" ")[0] for word in stage.trace))
            told = [word for word in happened if word in _ORDER]
            assert told == [word for word in _ORDER if word in told], stage.trace
            assert {"cloakroom.leave", "cloakroom.fetch", "run", "cloakroom.discard"} <= set(told)

    async def test_while_the_cloakroom_is_away_it_waits_uncounted(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task(max_attempts=1)
            async def work(text: str) -> int:
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            wire = stage.wire()
            wire.away("cloakroom.*")
            actor = await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("cloakroom.fetch") >= 3)
            record = await harness.record(id)
            assert record.state is not MessageState.DEAD
            assert (record.counters.attempts, record.counters.crashes, record.counters.lost) == (0, 0, 0)
            wire.back()
            assert (await stage.ended(id)).result == b"5000"
            await _is_empty(stage)
            await stage.stop(actor)

    async def test_one_that_cannot_be_discarded_holds_nothing_up(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def work(text: str) -> int:
                return len(text)

            wire = stage.wire()
            wire.away("cloakroom.discard")
            actor = await stage.start(wire=wire)
            for _ in range(2):
                assert (await stage.ended(await stage.submit(work.bind(LARGE)))).state is MessageState.COMPLETED
            await stage.until(lambda: wire.said.count("cloakroom.discard") == 2)
            assert len(await _names(stage)) == 2
            await stage.end(actor)
            await _tidied(stage)
            assert await _names(stage) == []

    async def test_a_missing_body_is_a_dead_letter_that_can_be_redriven(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def work(text: str) -> int:
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            assert stage.cloakroom is not None
            (name,) = await _names(stage)
            (body,) = await stage.cloakroom.fetch([name])
            assert body is not None
            await stage.cloakroom.discard([name])
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
            await stage.cloakroom.leave([(name, body)])
            assert await harness.broker.redrive([id]) == [id]
            assert (await stage.ended(id)).result == b"5000"
            await _is_empty(stage)

    async def test_a_body_that_was_changed_is_not_run(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def work(text: str) -> None:
                stage.note(f"run with {text[:10]}")

            id = await stage.submit(work.bind(LARGE))
            assert stage.cloakroom is not None
            (name,) = await _names(stage)
            await stage.cloakroom.leave([(name, msgspec.json.encode({"text": "z" * 5_000}))])
            await stage.start()
            record = await stage.ended(id)
            assert record.reason is not None
            assert record.reason.code == "body_damaged"
            assert not any(word.startswith("run") for word in stage.trace)
            assert await _names(stage) == [name]

    async def test_the_body_of_a_dead_letter_stays_for_its_redrive(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

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
            await _tidied(stage)
            assert len(await _names(stage)) == 1, "its body was discarded though it can run again"
            assert await harness.broker.redrive([id]) == [id]
            await stage.start()
            assert (await stage.ended(id)).result == b"5000"
            await _is_empty(stage)

    async def test_a_retry_fetches_it_again(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task(max_attempts=2, retry_delay=1)
            async def work(ctx: Context, text: str) -> int:
                if ctx.attempt == 1:
                    raise RuntimeError
                return len(text)

            id = await stage.submit(work.bind(LARGE))
            await stage.start()
            assert (await stage.ended(id)).result == b"5000"
            assert stage.trace.count("cloakroom.fetch") == 2
            await _is_empty(stage)

    async def test_a_worker_without_a_cloakroom_gives_it_back(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

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
        async with _stage(harness) as stage:

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
        async with _stage(harness) as stage:
            _with_hand_off(stage)
            first = await stage.submit(stage.tasks["work"].bind(SMALL))
            await stage.start()
            assert (await stage.ended(first)).state is MessageState.COMPLETED
            await stage.until(lambda: "followed 5000" in stage.trace)
            await _is_empty(stage)

    async def test_a_large_hand_off_waits_for_the_cloakroom_and_is_not_lost(self, harness: Harness) -> None:
        async with _stage(harness) as stage:
            _with_hand_off(stage)
            first = await stage.submit(stage.tasks["work"].bind(SMALL))
            wire = stage.wire()
            wire.away("cloakroom.leave")
            await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("cloakroom.leave") >= 3)
            await asyncio.sleep(2 * harness.lease_seconds)
            assert (await harness.record(first)).state is MessageState.LEASED, "done before its hand-off is safe"
            wire.back()
            await stage.until(lambda: "followed 5000" in stage.trace)
            assert stage.trace.count("run") == 1

    # --- killed anywhere --------------------------------------------------------------------------------

    async def test_a_sender_that_dies_anywhere_can_repeat_itself(self, harness: Harness) -> None:
        for number, after in itertools.product((1, 2, 3), (False, True)):
            async with _stage(harness, f"sender-{number}-{'after' if after else 'before'}") as stage:

                @stage.task
                async def work(text: str) -> int:
                    stage.note("run")
                    return len(text)

                wall = harness.clock.wall()
                out = outgoing(work.bind(LARGE), {}, id=new_id(wall), client=None, sent_at=wall)
                wire = stage.wire()
                wire.cut_at(number, after=after)
                sending = asyncio.ensure_future(stage.send(out, wire))
                await stage.until(lambda: sending.done() or wire.is_cut.is_set())  # noqa: B023 - asked in this turn
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                await stage.send(out)
                await stage.start()
                assert (await stage.ended(out.message.id)).result == b"5000"
                await stage.settled()
                assert stage.trace.count("run") == 1, stage.trace
                await _is_empty(stage)

    async def test_what_a_dead_sender_left_is_discarded_in_the_end(self, harness: Harness) -> None:
        async with _stage(harness) as stage:

            @stage.task
            async def work(text: str) -> None: ...

            wire = stage.wire()
            wire.cut_at(2, after=False)  # left, and not sent
            wall = harness.clock.wall()
            out = outgoing(work.bind(LARGE), {}, id=new_id(wall), client=None, sent_at=wall)
            sending = asyncio.ensure_future(stage.send(out, wire))
            await stage.until(wire.is_cut.is_set)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await _tidied(stage)
            assert len(await _names(stage)) == 1, "perhaps its message is on its way"
            assert stage.cloakroom is not None
            await asyncio.sleep(stage.cloakroom.keep_seconds)
            await _tidied(stage)
            assert await _names(stage) == []

    async def test_a_worker_that_dies_anywhere_loses_nothing(self, harness: Harness) -> None:
        await _everywhere(harness, "plain", {}, _nothing)

    async def test_a_worker_that_dies_anywhere_with_a_key_and_a_hand_off(self, harness: Harness) -> None:
        async def hand_on(ctx: Context, stage: Stage) -> None:
            ctx.submit(stage.tasks["follow"].bind(LARGE))

        await _everywhere(harness, "keyed-on", {"key": "k"}, hand_on, handoffs=1)


#: In which order things happen to one large message, as far as they happen.
_ORDER = (
    "cloakroom.leave", "broker.send", "broker.lease", "ledger.claim", "cloakroom.fetch", "run", "ledger.seal",
    "broker.ack", "cloakroom.discard",
)  # fmt: skip


async def _nothing(_ctx: Context, _stage: Stage) -> None: ...


def _with_hand_off(stage: Stage) -> None:
    @stage.task
    async def follow(text: str) -> None:
        stage.note(f"followed {len(text)}")

    @stage.task
    async def work(ctx: Context, text: str) -> None:
        stage.note("run")
        ctx.submit(follow.bind(100 * text))


async def _tidied(stage: Stage) -> None:
    """As if an hour had passed and a worker had looked at everything."""
    assert stage.cloakroom is not None
    await asyncio.sleep(3_601)
    state = stage.harness.state
    await Tidier(ClaimCheck(stage.cloakroom), state.records, state.board, "test").look()


async def _everywhere(
    harness: Harness, name: str, options: Options, handler: Callable[[Context, Stage], Awaitable[None]], *,
    handoffs: int = 0,
) -> None:  # fmt: skip
    """Kill a worker at every point."""
    for number in itertools.count(1):
        struck = False
        for after in (False, True):
            async with _stage(harness, f"{name}-{number}-{'after' if after else 'before'}") as stage:
                struck |= await _killed_at(stage, number, after, options, handler, handoffs)
        if not struck:
            assert number > 4, "the worker made next to no calls: what was tested?"
            return


async def _killed_at(
    stage: Stage, number: int, after: Any, options: Options,
    handler: Callable[[Context, Stage], Awaitable[None]], handoffs: int,
) -> bool:  # fmt: skip
    """One message through one crash; whether the worker came as far as that point."""
    with user_database() as db:

        @stage.task
        async def follow(text: str) -> None:
            stage.note(f"followed {len(text)}")

        @stage.task
        async def work(ctx: Context, text: str) -> None:
            stage.note(f"run {len(text)}")
            with db:
                if ctx.once(db):
                    db.execute("INSERT INTO payment VALUES (1)")
            await handler(ctx, stage)

        id = await stage.submit(work.bind(LARGE), **options)
        wire = stage.wire()
        wire.cut_at(number, after=after)
        doomed = survivor = await stage.start(wire=wire, concurrency=1)

        async def is_over() -> bool:
            depth = await stage.harness.depth(stage.queue)
            is_idle = not (depth.ready or depth.delayed or depth.leased) and doomed.worker.in_flight == 0
            return wire.is_cut.is_set() or (is_idle and not await _names(stage))

        await stage.until(is_over)
        struck = wire.is_cut.is_set()
        if struck:
            await stage.kill(doomed)
            stage.note("killed")
            survivor = await stage.start(concurrency=1)
        record = await stage.ended(id)
        await stage.settled()
        where = f"call {number}, {'after' if after else 'before'}: {stage.trace}"
        assert record.state is MessageState.COMPLETED, where
        assert payments(db) == [1], f"{where}: the effect was done {len(payments(db))} times"
        assert all(word == "run 5000" for word in stage.trace if word.startswith("run")), where
        assert ("followed 5000" in stage.trace) is bool(handoffs), where
        await stage.end(survivor)  # nobody is at work while an hour passes
        await _tidied(stage)
        assert await _names(stage) == [], f"{where}: a body stays for ever"
    return struck
