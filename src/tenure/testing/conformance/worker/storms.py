"""Storms: everything at once, for a while: workers are killed, frozen, cut off and wrongly declared dead.

Each seed is one storm, the same every time. Afterwards every message must have ended as it should, with its
effect and its hand-off there once, no run begun after its end, and the workers that are left must be idle.
"""

import asyncio
import random
import sqlite3
from typing import Any

from tenure.message import MessageState
from tenure.runtime.delivery import Delivery
from tenure.tasks.context import Context, ContextLink
from tenure.testing.conformance.worker.contexts import payments, user_database
from tenure.testing.harness import Harness
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Completed, Reject, Retry

MESSAGES = 16
BLOWS = 16

#: Whose answers get lost.
_WORDS = (
    "broker.lease", "broker.held", "broker.touch", "broker.ack", "broker.nack", "broker.give_back",
    "broker.dead_letter", "broker.send", "broker.sweep", "broker.retire", "ledger.claim", "ledger.renew",
    "ledger.seal", "ledger.release", "ledger.forget", "records.checkpoint", "roster.members", "journal.append",
)  # fmt: skip


class Storms:
    """Tests that nothing is lost or done twice when many faults come together."""

    async def test_nothing_is_lost_and_nothing_is_done_twice(self, harness: Harness) -> None:
        for seed in range(harness.storms):
            with user_database() as db:
                async with _Storm(harness, seed, db) as storm:
                    await storm.blow()
                    await storm.assert_calm()


class _Storm(Stage):
    """One storm, on a queue of its own."""

    def __init__(self, harness: Harness, seed: int, db: sqlite3.Connection) -> None:
        super().__init__(harness, queue=f"storm-{seed}")
        self._random = random.Random(seed)  # noqa: S311 - the same storm every time
        self._db = db
        self._workers: list[Actor] = []
        self._expected: dict[str, tuple[str, bool]] = {}
        self.task(name="follow", queue=f"{self.queue}-next")(_follow)
        self.task(name="work", max_attempts=100, retry_delay=1, max_retry_delay=5)(self._work)

    async def _work(self, ctx: Context, how: str, seconds: float, hands_on: bool) -> None:  # noqa: FBT001
        self.note(f"run {ctx.message.id}")
        with self._db:
            if ctx.once(self._db):
                self._db.execute("INSERT INTO payment VALUES (1)")
        if hands_on:
            ctx.submit(self.tasks["follow"].bind())
        await asyncio.sleep(seconds)
        if how == "reject":
            raise Reject(how)
        if how == "retry" and ctx.attempt == 1:
            raise Retry(after=3)
        if how == "checkpoint":
            await ctx.checkpoint(how)
            await asyncio.sleep(seconds)

    def _heard(self, name: str, arguments: tuple[Any, ...], answer: Any) -> None:
        if name == "ledger.seal":
            self.trace += [f"done {seal.token.id}" for seal, ok in zip(arguments[0], answer, strict=True) if ok]
        elif name in ("broker.ack", "broker.dead_letter"):
            pairs = zip(arguments[0], answer, strict=True)
            self.trace += [f"done {word.lease.id}" for word, settlement in pairs if settlement.took_effect]

    async def blow(self) -> None:
        """Send, start three workers, and strike them one after the other."""
        draw = self._random
        for number in range(MESSAGES):
            how, hands_on = draw.choice(("complete", "complete", "retry", "reject", "checkpoint")), draw.random() < 0.5
            call = self.tasks["work"].bind(how, draw.choice((0.0, 0.5, 5.0, 40.0)), hands_on)
            key = f"key-{number}"
            id = await (self.submit(call, key=key) if draw.random() < 0.5 else self.submit(call))
            self._expected[id] = (how, hands_on)
        for _ in range(3):
            await self._reinforce()
        for _ in range(BLOWS):
            await asyncio.sleep(draw.choice((0.01, 0.5, 3.0, 12.0)))
            await draw.choice(
                (self._lose_answers, self._cut_off, self._freeze, self._kill, self._slander, self._stop)
            )()

    async def _reinforce(self) -> None:
        self._workers.append(await self.start(concurrency=self._random.choice((1, 3, 8)), children=_Here))

    def _victim(self) -> Actor:
        return self._random.choice(self._workers)

    async def _lose_answers(self) -> None:
        self._victim().wire.lose_replies(self._random.choice(_WORDS), 2)

    async def _cut_off(self) -> None:
        wire = self._victim().wire
        wire.away(self._random.choice(("*", "broker.*", "ledger.*")))
        asyncio.get_running_loop().call_later(self._random.choice((1, 10, 70)), wire.back)

    async def _freeze(self) -> None:
        wire = self._victim().wire
        wire.freeze()
        asyncio.get_running_loop().call_later(self._random.choice((1, 10, 50)), wire.thaw)

    async def _kill(self) -> None:
        victim = self._victim()
        self._workers.remove(victim)
        if victim.worker.owner_id in await self.harness.living():
            await self.kill(victim)
        else:
            await self.end(victim)
        await self._reinforce()

    async def _slander(self) -> None:
        """Declare a worker dead that is running well."""
        await self.harness.broker.retire(self._victim().worker.owner_id, crashed=self._random.random() < 0.5)

    async def _stop(self) -> None:
        victim = self._victim()
        self._workers.remove(victim)
        victim.wire.back()
        victim.wire.thaw()
        victim.worker.ask_to_stop()
        await self.stop(victim)
        await self._reinforce()

    async def assert_calm(self) -> None:
        """The storm is over."""
        for actor in self._workers:
            actor.wire.back()
            actor.wire.thaw()
        await self.settled(within=3600)
        await asyncio.sleep(2 * self.harness.lease_seconds)
        handed_on = 0
        for id, (how, hands_on) in self._expected.items():
            expected = MessageState.DEAD if how == "reject" else MessageState.COMPLETED
            assert (await self.harness.record(id)).state is expected, f"{self.queue}: {how} {id}"
            handed_on += hands_on and how != "reject"
        assert payments(self._db) == [1] * MESSAGES, f"{self.queue}: {len(payments(self._db))} effects"
        assert (await self.harness.depth(f"{self.queue}-next")).ready == handed_on, f"{self.queue}: hand-offs"
        self._assert_nothing_ran_after_its_end()
        assert [actor.worker.in_flight for actor in self._workers] == [0] * len(self._workers)

    def _assert_nothing_ran_after_its_end(self) -> None:
        over: set[str] = set()
        for what, _, id in (word.partition(" ") for word in self.trace):
            if what == "done":
                over.add(id)
            assert what != "run" or id not in over, f"{self.queue}: {id} was run after its end"


class _Here:
    """Replaces the solo child for suspects: runs the handler in this loop."""

    def __init__(self, _locate: object, **_: object) -> None: ...

    async def run(self, delivery: Delivery, link: ContextLink) -> Completed:
        message, task = delivery.whole, delivery.task
        assert message is not None
        assert task is not None
        arguments, _ = task.signature.arguments(message.body)
        context = Context(message, delivery.attempt, delivery.fence, link, None)
        result = await task.function(context, *arguments)
        return Completed(task.signature.encode_result(result, task.policy.result_limit), tuple(delivery.handoffs))

    async def close(self) -> None: ...


async def _follow() -> None: ...
