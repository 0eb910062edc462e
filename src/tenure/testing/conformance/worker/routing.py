"""Routing: messages that Tenure did not send, and what the app's route makes of them.

Their bytes are brought in by `Harness.damage`: to a worker, what it cannot read was not sent by Tenure.
"""

import asyncio

from tenure.foreign import Foreign
from tenure.message import MessageState
from tenure.record import Record
from tenure.tasks.call import Call
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject


class Routing:
    """From its route on, a foreign message goes the way of every other one."""

    async def test_a_foreign_message_is_run_as_its_route_says(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            met: list[Foreign] = []

            @stage.task
            async def work(size: int) -> int:
                return size

            def route(foreign: Foreign) -> Call[int]:
                met.append(foreign)
                return work.bind(len(foreign.raw))

            stage.router.add(QUEUE, route)
            id, own = await stage.submit(work.bind(0)), await stage.submit(work.bind(7))
            raw = await harness.damage(id)
            await stage.start()
            record = await stage.ended(id, within=30)
            assert (record.state, record.result) == (MessageState.COMPLETED, b"%d" % len(raw))
            assert record.task == "work"
            assert (await stage.ended(own, within=30)).result == b"7"
            assert [(one.id, one.queue, one.raw) for one in met] == [(id, QUEUE, raw)]

    async def test_one_that_the_route_does_not_know_is_dead_and_can_be_redriven(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            known: list[str] = []

            @stage.task
            async def work() -> str:
                return "done"

            stage.router.add(None, lambda foreign: work.bind() if foreign.id in known else None)
            id = await stage.submit(work.bind())
            raw = await harness.damage(id)
            await stage.start()
            record = await stage.ended(id, within=30)
            assert _why(record) == "foreign_unrouted"
            assert record.envelope == raw
            known.append(id)
            assert await harness.broker.redrive([id]) == [id]
            await stage.until(lambda: _is_done(harness, id))

    async def test_a_route_that_fails_has_used_an_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            asked: list[str] = []

            @stage.task
            async def work() -> None: ...

            def route(foreign: Foreign) -> Call[None]:
                asked.append(foreign.id)
                return work.bind(**{foreign.attributes["no such thing"]: 1})

            stage.router.add(QUEUE, route)
            id = await stage.submit(work.bind())
            raw = await harness.damage(id)
            await stage.start()
            record = await stage.ended(id)
            assert asked == [id] * harness.max_attempts
            assert (_why(record), record.counters.attempts) == ("max_attempts", harness.max_attempts)
            assert record.reason is not None
            assert "route" in record.reason.text
            assert "KeyError: 'no such thing'" in record.reason.text
            assert "in route" in record.reason.traceback
            assert record.envelope == raw

    async def test_a_route_can_refuse_and_what_cannot_be_read_is_not_tried_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None: ...

            ids = [await stage.submit(work.bind()) for _ in range(2)]

            def route(foreign: Foreign) -> Call[None]:
                if foreign.id == ids[0]:
                    raise Reject("not in this house")
                return foreign.call(work)

            stage.router.add(QUEUE, route)
            for id in ids:
                await harness.damage(id)
            await stage.start()
            first, second = [await stage.ended(id, within=30) for id in ids]
            assert (_why(first), first.counters.attempts) == ("rejected", 1)
            assert (_why(second), second.counters.attempts) == ("body_undecodable", 0)

    async def test_its_handler_fails_and_it_is_dead_with_the_bytes_that_lay_there(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            broken = [True]

            @stage.task(max_attempts=2, retry_delay=1.0)
            async def work() -> str:
                if broken:
                    raise OSError
                return "fixed"

            stage.router.add(QUEUE, lambda _: work.bind())
            id = await stage.submit(work.bind())
            raw = await harness.damage(id)
            await stage.start()
            record = await stage.ended(id)
            assert (_why(record), record.counters.attempts, record.envelope) == ("max_attempts", 2, raw)
            broken.clear()
            assert await harness.broker.redrive([id]) == [id]
            await stage.until(lambda: _is_done(harness, id))
            assert (await harness.record(id)).result == b'"fixed"'

    async def test_a_key_of_its_route_makes_it_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[int] = []

            @stage.task
            async def work() -> str:
                runs.append(1)
                await asyncio.sleep(1)
                return "once"

            stage.router.add(QUEUE, lambda _: work.bind().having(key="order-1"))
            ids = [await stage.submit(work.bind()) for _ in range(2)]
            for id in ids:
                await harness.damage(id)
            await stage.start()
            records = [await stage.ended(id) for id in ids]
            assert [record.state for record in records] == [MessageState.COMPLETED] * 2
            assert len(runs) == 1

    async def test_a_worker_that_dies_with_it_leaves_it_to_the_next(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            begun: list[str] = []
            is_first = [True]

            @stage.task
            async def work(id: str) -> None:
                begun.append(id)
                if is_first:
                    await asyncio.sleep(3600)

            stage.router.add(QUEUE, lambda foreign: work.bind(foreign.id))
            id = await stage.submit(work.bind(""))
            await harness.damage(id)
            first = await stage.start()
            await stage.until(lambda: len(begun) == 1)
            is_first.clear()
            await stage.kill(first)
            await stage.start()
            record = await stage.ended(id)
            assert record.state is MessageState.COMPLETED
            assert begun == [id, id]


def _why(record: Record) -> str:
    assert record.state is MessageState.DEAD
    assert record.reason is not None
    return record.reason.code


async def _is_done(harness: Harness, id: str) -> bool:
    record = await harness.state.records.get(id)
    return record is not None and record.state is MessageState.COMPLETED
