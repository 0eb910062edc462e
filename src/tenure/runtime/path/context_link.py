"""The link between a handler's context and this worker, for handlers in the same process or a child's parent.

A call that needs the store waits while the store is away, as settling does, for as long as the message is ours. An
outage is not a failed attempt.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tenure.call import Call, Options
from tenure.claim_check import ClaimCheck, Judge, refusal
from tenure.clock import Clock
from tenure.errors import BadArgument, BrokerUnavailable, LeaseLost
from tenure.given import seconds as duration
from tenure.record import Progress
from tenure.refusal import error_of
from tenure.runtime.backoff import Backoff
from tenure.runtime.delivery import Delivery
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.learning import Learning
from tenure.runtime.progress import ProgressWriter
from tenure.sizing import checked
from tenure.state import Records

T = TypeVar("T")

logger = logging.getLogger("tenure.context")


class Desk:
    """What all links of a worker share."""

    __slots__ = (
        "broker", "check", "clock", "heartbeat", "learning", "max_lease_seconds", "progress", "records", "stopping",
        "tell_size", "wall",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - made in one place, by the path
        self, heartbeat: Heartbeat, records: Records, progress: ProgressWriter, clock: Clock, broker: Judge, *,
        wall: Callable[[], float], check: ClaimCheck | None = None, learning: Learning | None = None,
        tell_size: Callable[[Delivery, float], None] = lambda _delivery, _size: None,
    ) -> None:  # fmt: skip
        """Nobody is stopping yet. `wall` is the store's time, for messages that are handed on."""
        self.heartbeat = heartbeat
        self.records = records
        self.progress = progress
        self.clock = clock
        self.wall = wall
        #: Says what it would refuse, so that a handler is told of it while it runs.
        self.broker = broker
        #: Where what is too large goes, when the run is over.
        self.check = check
        self.max_lease_seconds = broker.traits.max_lease_seconds
        self.learning = learning
        self.tell_size = tell_size
        self.stopping = False

    async def resize(self, delivery: Delivery, size: float) -> None:
        """The size of what runs is known now: renew for as long as it needs, if it was lent for less."""
        if self.learning is None:
            return
        seconds = self.learning.resize(delivery, size)
        if seconds is not None and self.clock.monotonic() + seconds > self.heartbeat.deadline(delivery):
            with contextlib.suppress(BrokerUnavailable):  # tried again; nothing is lost before the lease is over
                await self.heartbeat.touch_now(delivery, seconds)


class WorkerLink:
    """Answers one handler; satisfies `tenure.context.Link`."""

    __slots__ = ("_delivery", "_desk")

    def __init__(self, delivery: Delivery, desk: Desk) -> None:
        """Speak for `delivery`."""
        self._delivery = delivery
        self._desk = desk

    @property
    def deadline(self) -> float:
        """When the latest lease ends."""
        return self._desk.heartbeat.deadline(self._delivery)

    @property
    def lease_lost(self) -> bool:
        """Whether the message is no longer ours."""
        return self._delivery.lease_lost or self._delivery.left

    @property
    def stopping(self) -> bool:
        """Whether the worker wants to end."""
        return self._desk.stopping

    @property
    def send_id(self) -> str:
        """Which send this run belongs to."""
        return self._delivery.send_id

    @property
    def expected_end(self) -> float | None:
        """When a run like this is usually over."""
        delivery, learning = self._delivery, self._desk.learning
        seconds = None if learning is None else learning.expected(delivery)
        return None if seconds is None or delivery.started is None else delivery.started + seconds

    async def set_size(self, size: float) -> None:
        """Learn by this size, and renew the lease now if nobody else does and it is too short for it."""
        number = checked(size)
        if number is None:
            msg = "set_size takes a number of at least 0, not None; nothing was changed"
            raise BadArgument(msg)
        try:
            await self._desk.resize(self._delivery, number)
        finally:
            self._desk.tell_size(self._delivery, number)

    async def touch(self, seconds: float | None) -> None:
        """Renew now, for as long as the broker lends at most."""
        if seconds is not None:
            seconds = min(duration(seconds, "touch", least=0.001), self._desk.max_lease_seconds)
        touch_now = self._desk.heartbeat.touch_now
        await self._once_store_answers("ctx.touch", lambda: touch_now(self._delivery, seconds))

    def progress(self, progress: Progress) -> None:
        """Keep for the next write."""
        self._desk.progress.note(self._delivery, progress)

    async def checkpoint(self, data: bytes) -> None:
        """Write through: the handler may rely on it when this returns."""
        delivery, records = self._delivery, self._desk.records
        if delivery.lease_lost or not await self._once_store_answers(
            "ctx.checkpoint", lambda: records.checkpoint(delivery.lease, data)
        ):
            msg = f"the lease on {delivery.id} is lost; the checkpoint was not kept"
            raise LeaseLost(msg)

    async def load_checkpoint(self) -> bytes | None:
        """What an earlier run kept."""
        records, id = self._desk.records, self._delivery.id
        return await self._once_store_answers("ctx.last_checkpoint", lambda: records.load_checkpoint(id))

    async def _once_store_answers(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask, and again while the store is away; raises `LeaseLost` once the run was ended from outside."""
        delivery, backoff = self._delivery, Backoff(self._desk.clock)
        try:
            while True:
                try:
                    answer = await ask()
                except BrokerUnavailable as error:
                    backoff.failed(logger, what, error)
                else:
                    backoff.succeeded(logger, what)
                    return answer
                await backoff.pause()
                if delivery.lease_lost or delivery.left or delivery.ending is not None:
                    msg = f"the run of {delivery.id} was ended while {what} waited for the store; nothing was written"
                    raise LeaseLost(msg)
        finally:
            backoff.gave_up()

    def submit(self, call: Call[Any], options: Options) -> str:
        """Hand on with the ack. What `send` would refuse is refused now, while the handler can react."""
        desk, delivery = self._desk, self._delivery
        out = delivery.hand_on(call, options, sent_at=desk.wall())
        try:
            told = refusal(desk.broker, desk.check, out)
        except BaseException:
            delivery.handoffs.remove(out)
            raise
        if told is not None:
            delivery.handoffs.remove(out)
            raise error_of(told)
        return out.message.id
