"""Moving: a dead letter that is moved or edited runs as one new message, whatever breaks between the two steps."""

from collections.abc import Sequence
from typing import Any, cast

from tenure.broker import Broker
from tenure.client.operations.operate import Operate
from tenure.message import MessageState
from tenure.record import Record
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.operated import operate_on
from tenure.testing.workers import Stage
from tenure.verdict import Reject

#: Where messages are moved to.
TO = "moved-here"


class Moving:
    """Move and edit: send first, delete second."""

    async def test_a_moved_dead_letter_runs_in_the_other_queue_and_nowhere_else(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work = _Work(stage)
            id = await work.dead("a")
            result = await _operate(stage).move([id], TO)
            (moved,) = result.messages
            assert (result.done, result.skipped, moved.problem, moved.queue) == (1, 0, "", TO)
            assert moved.new_id is not None
            await work.run_all(TO)
            assert work.done == ["a"]
            assert (await harness.record(moved.new_id)).state is MessageState.COMPLETED
            assert await _state(harness, id) is MessageState.CANCELLED
            assert not (await harness.depth()).dead

    async def test_an_edited_dead_letter_runs_with_its_new_payload(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work = _Work(stage)
            id = await work.dead("a")
            edited = await _operate(stage).edit(id, {"text": "b"})
            assert [(one.path, one.before, one.after) for one in edited.changes] == [("payload.text", "a", "b")]
            await work.run_all(QUEUE)
            assert work.done == ["b"]
            assert await _state(harness, id) is MessageState.CANCELLED

    async def test_a_crash_between_the_two_steps_loses_nothing_and_repeated_makes_one(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work = _Work(stage)
            ids = [await work.dead("a"), await work.dead("b")]
            broken = _operate(stage, _DiesBeforeDelete(harness.broker))
            for act in (broken.move([ids[0]], TO), broken.edit(ids[1], {"text": "c"})):
                assert await _dies(act), "the test did not crash where it was to"
            for id in ids:
                assert await _state(harness, id) is MessageState.DEAD, "deleted before its copy was sent"
            # The copies may run before the act is repeated, and are not run again.
            await work.run_all(QUEUE, TO)
            assert sorted(work.done) == ["a", "c"]
            operate = _operate(stage)
            await operate.move([ids[0]], TO)
            await operate.edit(ids[1], {"text": "c"})
            await work.run_all(QUEUE, TO)
            assert sorted(work.done) == ["a", "c"], "repeated, it was sent a second time"
            for id in ids:
                assert await _state(harness, id) is MessageState.CANCELLED

    async def test_a_dead_letter_with_a_key_keeps_it(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work = _Work(stage)
            id = await work.dead("a", key="k")
            edited = await _operate(stage).edit(id, {"text": "b"})
            found = await _operate(stage).message(edited.new_id or "")
            assert found.message is None or found.message.key == "k"
            await work.run_all(QUEUE)
            assert work.done == ["b"]

    async def test_what_is_no_dead_letter_is_left_alone(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            work = _Work(stage)
            id = await work.dead("a")
            operate = _operate(stage)
            await operate.redrive([id])
            try:
                await operate.move([id], TO)
            except Exception as error:  # noqa: BLE001 - any class, with this code
                assert getattr(error, "code", "") == "not_dead"  # noqa: PT017 - the suite stands without pytest
            else:
                msg = "a message that waits was moved"
                raise AssertionError(msg)
            assert work.done == []


class _Crash(Exception):
    """The process ends here."""


class _DiesBeforeDelete:
    """A broker whose caller dies just before it deletes."""

    def __init__(self, inner: Broker) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Die."""
        raise _Crash(ids, queue)


async def _dies(act: Any) -> bool:
    try:
        await act
    except _Crash:
        return True
    return False


class _Work:
    """A task on a stage that rejects every message until it is fixed."""

    def __init__(self, stage: Stage) -> None:
        """Broken at first."""
        self._stage = stage
        self._is_broken = True
        #: What it has done.
        self.done: list[str] = []

        @stage.task
        async def work(text: str) -> None:
            if self._is_broken:
                raise Reject(f"no {text}")
            self.done.append(text)

    async def dead(self, text: str, **options: Any) -> str:
        """A dead letter."""
        self._is_broken = True
        id = await self._stage.submit(self._stage.tasks["work"].bind(text), **options)
        await self._run(QUEUE)
        assert await _state(self._stage.harness, id) is MessageState.DEAD
        return id

    async def run_all(self, *queues: str) -> None:
        """Let a worker that can do it do what waits."""
        self._is_broken = False
        await self._run(*queues)

    async def _run(self, *queues: str) -> None:
        actor = await self._stage.start(queues=queues)
        for queue in queues:
            await self._stage.settled(queue)
        await self._stage.stop(actor)
        await self._stage.end(actor)


def _operate(stage: Stage, broker: object | None = None) -> Operate:
    return operate_on(stage.harness, broker=cast("Broker | None", broker), tasks=stage.tasks)


async def _state(harness: Harness, id: str) -> MessageState:
    record: Record = await harness.record(id)
    return record.state
