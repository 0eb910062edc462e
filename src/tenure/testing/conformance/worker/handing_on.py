"""Handing on: what cannot be sent is refused in the handler; what is refused later is a dead letter, never dropped."""

import asyncio
import itertools
from collections.abc import Callable, Sequence

from tenure.broker import Broker, Refused, Sent
from tenure.errors import BadMessage, BrokerError, QueueGone, StoreMissing
from tenure.message import MessageState, Outgoing
from tenure.rules.rejections import error_of
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.tasks.task import Task
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Reason

_DAY = 86_400.0
_REASON = Reason("refused_by_queue", "the queue does not take it")

#: What becomes of one hand-off that is sent: refused, or an error.
Fate = Callable[[Outgoing], Sent]


class HandingOn:
    """Refused at once, or put aside."""

    async def test_what_send_would_refuse_is_refused_in_the_handler(self, harness: Harness) -> None:
        options: list[Options] = [{"delay": 20 * _DAY}, {"delay": 400 * _DAY}, {"priority": 9}, {}]
        async with Stage(harness) as stage:
            said: list[BadMessage | str] = []
            second = _second(stage)

            @stage.task
            async def first(ctx: Context) -> None:
                for one in options:
                    try:
                        said.append(ctx.submit(second.bind(), **one))
                    except BadMessage as error:
                        said.append(error)

            await stage.start()
            id = await stage.submit(first.bind())
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            for told in said:
                if isinstance(told, str):
                    assert (await harness.record(told)).state in (MessageState.READY, MessageState.DELAYED)
            refused = await _refused_by_send(stage, second, options)
            assert [type(one) if isinstance(one, BadMessage) else None for one in said] == refused

    async def test_a_body_that_is_too_large_is_refused_in_the_handler(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            stage.body_limit = 10_000

            @stage.task(queue=f"{stage.queue}-next")
            async def second(text: str) -> None: ...

            @stage.task
            async def first(ctx: Context) -> str:
                try:
                    ctx.submit(second.bind("x" * 20_000))
                except BadMessage as error:
                    return error.code
                return "handed on"

            await stage.start()
            record = await stage.ended(await stage.submit(first.bind()))
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"body_too_large"')
            assert (await harness.depth(f"{stage.queue}-next")).ready == 0

    async def test_a_hand_off_whose_key_is_taken_is_a_dead_letter(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ids: list[str] = []

            @stage.task
            async def second(number: int) -> None: ...

            @stage.task
            async def first(ctx: Context) -> None:
                ids.append(ctx.submit(second.bind(2), key="k"))

            await stage.start()
            await stage.ended(await stage.submit(second.bind(1), key="k"))
            assert (await stage.ended(await stage.submit(first.bind()))).state is MessageState.COMPLETED
            await stage.until(lambda: bool(ids))
            record = await _known(stage, ids[0])
            assert record == (MessageState.DEAD, "key_conflict")

    async def test_what_the_queue_refuses_after_the_seal_is_a_dead_letter(self, harness: Harness) -> None:
        await _put_aside(harness, lambda out: Sent(out.message.id, refusal=_REASON), _REASON.code)

    async def test_a_missing_queue_is_no_end_of_a_parent_that_is_done(self, harness: Harness) -> None:
        await _put_aside(harness, _raises(StoreMissing("there is no such queue")), "queue_missing")

    async def test_a_queue_that_was_removed_is_no_outage(self, harness: Harness) -> None:
        await _put_aside(harness, _raises(QueueGone("the queue is not there any more")), "queue_missing")

    async def test_what_is_handed_on_to_a_queue_that_never_was_waits_for_people(self, harness: Harness) -> None:
        await _without_its_queue(harness, was_used=False)

    async def test_what_is_handed_on_to_a_queue_that_was_deleted_waits_for_people(self, harness: Harness) -> None:
        await _without_its_queue(harness, was_used=True)

    async def test_what_the_service_does_not_take_is_a_dead_letter(self, harness: Harness) -> None:
        await _put_aside(harness, _raises(BrokerError("the service refused it")), BrokerError.code)

    async def test_a_bug_in_sending_is_no_end_of_a_parent_that_is_done(self, harness: Harness) -> None:
        await _put_aside(harness, _raises(ValueError("nobody knows")), "unsendable")

    async def test_a_parent_whose_hand_off_can_neither_be_sent_nor_put_aside_stays_done(self, harness: Harness) -> None:
        harness.need("settles_exactly_once", lambda exact: not exact)
        async with Stage(harness) as stage:
            second, runs = _second(stage), list[None]()

            @stage.task
            async def first(ctx: Context) -> None:
                runs.append(None)
                ctx.submit(second.bind())

            bad = _Lossy(harness.broker, harness.clock, _raises(ValueError("nobody knows")))
            actor = await stage.start(wire=Wire(bad, harness.state))
            id = await stage.submit(first.bind())
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            await asyncio.sleep(2 * harness.lease_seconds)
            await stage.end(actor)
            # The next worker can, and the hand-off was not forgotten.
            await stage.start()
            await stage.until(lambda: _is_ready(stage, 1))
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert len(runs) == 1

    async def test_killed_anywhere_a_refused_hand_off_is_one_dead_letter(self, harness: Harness) -> None:
        harness.need("settles_exactly_once", lambda exact: not exact)
        for number in itertools.count(1):
            struck = [await _killed_at(harness, number, after=after) for after in (False, True)]
            if not any(struck):
                assert number > 4, "the worker made next to no calls: what was tested?"
                break


class _Refusing(HonestBroker):
    """Sends everything but hand-offs of the task `second`, whose fate is given."""

    def __init__(self, inner: Broker, clock: VirtualClock, fate: Fate) -> None:
        super().__init__(inner, clock)
        self._fate = fate

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        fates = {out.message.id: self._fate(out) for out in batch if out.message.task == "second"}
        others = [out for out in batch if out.message.id not in fates]
        told = {sent.id: sent for sent in await self.inner.send(others)} if others else {}
        return [(fates | told)[out.message.id] for out in batch]


class _Lossy(_Refusing):
    """And nothing can be put aside either."""

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        msg = f"nothing can be put aside: {batch}"
        raise ValueError(msg)


def _raises(error: Exception) -> Fate:
    def fate(_out: Outgoing) -> Sent:
        raise error

    return fate


def _second(stage: Stage) -> Task[..., None]:
    @stage.task(queue=f"{stage.queue}-next")
    async def second() -> None: ...

    return second


async def _refused_by_send(stage: Stage, task: Task[..., None], options: Sequence[Options]) -> list[type | None]:
    """The error that `submit` raises for each."""
    refused: list[type | None] = []
    for one in options:
        (sent,) = await stage.send(stage.outgoing(task.bind(), one))
        refused.append(None if sent.refusal is None else type(error_of(sent.refusal)))
    return refused


async def _known(stage: Stage, id: str) -> tuple[MessageState, str | None]:
    """State and reason of a message, once it has ended."""
    record = await stage.ended(id)
    return record.state, None if record.reason is None else record.reason.code


async def _is_ready(stage: Stage, count: int) -> bool:
    return (await stage.harness.depth(f"{stage.queue}-next")).ready == count


async def _put_aside(harness: Harness, fate: Fate, code: str) -> None:
    """One hand-off cannot be sent, the other can; the parent is completed in one run."""
    harness.need("settles_exactly_once", lambda exact: not exact)
    async with Stage(harness) as stage:
        ids, runs, second = list[str](), list[None](), _second(stage)

        @stage.task(queue=f"{stage.queue}-next")
        async def third() -> None: ...

        @stage.task
        async def first(ctx: Context) -> None:
            runs.append(None)
            ids.extend((ctx.submit(third.bind()), ctx.submit(second.bind()), ctx.submit(third.bind())))

        await stage.start(wire=Wire(_Refusing(harness.broker, harness.clock, fate), harness.state))
        parents = [await stage.submit(first.bind()) for _ in range(2)]
        for parent in parents:
            assert (await stage.ended(parent)).state is MessageState.COMPLETED
        await stage.settled()
        await asyncio.sleep(1.1 * harness.lease_seconds)
        for parent in parents:
            assert await harness.state_of(parent) is MessageState.COMPLETED, "a parent that was done ended otherwise"
        assert len(runs) == 2
        assert await _is_ready(stage, 4), "the other hand-offs did not go out, or twice"
        for refused in (ids[1], ids[4]):
            assert await _known(stage, refused) == (MessageState.DEAD, code)
        letters = await harness.browse(f"{stage.queue}-next", MessageState.DEAD)
        assert sorted(letter.id for letter in letters) == sorted((ids[1], ids[4]))
        # People see it, and send it again once the cause is removed.
        assert await harness.broker.redrive([ids[1]]) == [ids[1]]
        assert await _is_ready(stage, 5)


async def _without_its_queue(harness: Harness, *, was_used: bool) -> None:
    """The queue of a hand-off is missing: its parent is completed, others go on, and it is a dead letter."""
    async with Stage(harness) as stage:
        ids, second, target = list[str](), _second(stage), f"{stage.queue}-next"

        @stage.task
        async def first(ctx: Context) -> None:
            ids.append(ctx.submit(second.bind()))

        @stage.task
        async def other() -> None: ...

        if was_used:
            await stage.submit(second.bind())
        await harness.put(task="other", body={})  # so that the worker's own queue is there
        await harness.remove_queue(target)
        await stage.start()
        parent = await stage.submit(first.bind())
        assert (await stage.ended(parent)).state is MessageState.COMPLETED
        assert (await stage.ended(await stage.submit(other.bind()))).state is MessageState.COMPLETED
        await asyncio.sleep(1.1 * harness.lease_seconds)
        assert await harness.state_of(parent) is MessageState.COMPLETED
        assert len(ids) == 1
        assert await _known(stage, ids[0]) == (MessageState.DEAD, "queue_missing")
        assert target in [depth.queue for depth in await harness.broker.depth() if depth.dead]
        await harness.make_queue(target)
        assert await harness.broker.redrive(ids) == ids
        await stage.start(queues=(target,))
        assert (await stage.ended(ids[0])).state is MessageState.COMPLETED


async def _killed_at(harness: Harness, number: int, *, after: bool) -> bool:
    """One parent through one crash; whether the worker came as far as that call."""
    stage = Stage(harness, queue=f"refused-{number}-{'after' if after else 'before'}")
    async with stage:
        second, ids = _second(stage), list[str]()

        @stage.task
        async def first(ctx: Context) -> None:
            ids.append(ctx.submit(second.bind()))

        def wire() -> Wire:
            fate: Fate = lambda out: Sent(out.message.id, refusal=_REASON)  # noqa: E731
            return Wire(_Refusing(harness.broker, harness.clock, fate), harness.state)

        doomed = wire()
        doomed.cut_at(number, after=after)
        id = await stage.submit(first.bind())
        actor = await stage.start(wire=doomed, concurrency=1)
        await stage.until(lambda: _is_over(stage, actor, doomed))
        struck = doomed.is_cut.is_set()
        if struck:
            await stage.kill(actor)
            await stage.start(wire=wire(), concurrency=1)
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        await stage.settled()
        await asyncio.sleep(1.1 * harness.lease_seconds)
        where = f"call {number}, {'after' if after else 'before'}"
        assert len(set(ids)) == 1, where
        letters = await harness.browse(f"{stage.queue}-next", MessageState.DEAD)
        assert [letter.id for letter in letters] == ids[:1], where
        assert await harness.state_of(id) is MessageState.COMPLETED, where
    return struck


async def _is_over(stage: Stage, actor: Actor, wire: Wire) -> bool:
    if wire.is_cut.is_set():
        return True
    depth = await stage.harness.depth(stage.queue)
    return not (depth.ready or depth.delayed or depth.leased) and actor.worker.in_flight == 0
