"""The link between a handler's context and this worker: for handlers in this process and in child processes.

A call that needs the store waits while the store is away, as settling does, for as long as the message is ours. An
outage is not a failed attempt.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tenure.client.claim_check import ClaimCheck, Judge, refusal
from tenure.clock import Clock
from tenure.errors import BadArgument, BrokerUnavailable, LeaseLost
from tenure.monitoring.telemetry import Telemetry
from tenure.record import Progress
from tenure.rules.arguments import seconds as duration
from tenure.rules.rejections import error_of
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.path.learning import Learning
from tenure.runtime.path.progress import ProgressWriter
from tenure.state import Records
from tenure.tasks.call import Call, Options
from tenure.tasks.sizing import checked
from tenure.webhooks.targets import with_context

T = TypeVar("T")

logger = logging.getLogger("tenure.context")


class ContextServices:
    """The parts that all links of a worker share."""

    __slots__ = (
        "broker", "check", "clock", "heartbeat", "learning", "max_lease_seconds", "progress", "records", "slots",
        "stopping", "telemetry", "tell_size", "wall",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - made in one place, by the path
        self,
        heartbeat: Heartbeat,
        records: Records,
        progress: ProgressWriter,
        clock: Clock,
        broker: Judge,
        *,
        wall: Callable[[], float],
        slots: int,
        check: ClaimCheck | None = None,
        learning: Learning | None = None,
        tell_size: Callable[[Delivery, float, float | None], None] = lambda *_: None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """The worker is not stopping yet, and has so many slots.

        `wall` is the store's time, for messages that are handed on.
        """
        self.slots = slots
        self.heartbeat = heartbeat
        self.records = records
        self.progress = progress
        self.clock = clock
        self.wall = wall
        #: Says what it would refuse, so that a handler gets the error while it runs.
        self.broker = broker
        #: Where what is too large goes, when the run is over.
        self.check = check
        self.max_lease_seconds = broker.traits.max_lease_seconds
        self.learning = learning
        self.tell_size = tell_size
        #: What follows messages, if a program asked for it.
        self.telemetry = telemetry
        self.stopping = False

    async def measure(self, delivery: Delivery) -> None:
        """Measure the size of the work. It can be read only once the body came from the blob store."""
        sizer = None if delivery.task is None else delivery.task.sizer
        size = None if sizer is None or delivery.whole is None else sizer.size_of(delivery.whole.body)
        if size is not None:
            with contextlib.suppress(LeaseLost):  # then its run is ended anyway
                await self.resize(delivery, size)

    async def resize(self, delivery: Delivery, size: float) -> None:
        """Use the size of a running message: extend its lease if it is too short."""
        if self.learning is None:
            return
        seconds = self.learning.resize(delivery, size)
        if seconds is not None and self.clock.monotonic() + seconds > self.heartbeat.deadline(delivery):
            with contextlib.suppress(BrokerUnavailable):  # tried again; nothing is lost before the lease is over
                await self.heartbeat.touch_now(delivery, seconds)


class WorkerLink:
    """The link of one handler; implements `tenure.tasks.context.ContextLink`."""

    __slots__ = ("_delivery", "_services")

    def __init__(self, delivery: Delivery, services: ContextServices) -> None:
        """Speak for `delivery`."""
        self._delivery = delivery
        self._services = services

    @property
    def deadline(self) -> float:
        """The end of the latest lease."""
        return self._services.heartbeat.deadline(self._delivery)

    @property
    def most_at_once(self) -> int:
        """The worker's slots, or the limit of the task."""
        task = self._delivery.task
        limit = None if task is None else task.policy.concurrency
        return self._services.slots if limit is None else min(limit, self._services.slots)

    @property
    def lease_lost(self) -> bool:
        """Whether the message is no longer ours."""
        return self._delivery.is_gone or self._delivery.left

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping."""
        return self._services.stopping

    @property
    def send_id(self) -> str:
        """The id of the send to which this run belongs."""
        return self._delivery.send_id

    @property
    def expected_end(self) -> float | None:
        """The usual end of a run like this."""
        started, seconds = self._delivery.started, self._expected()
        return None if seconds is None or started is None else started + seconds

    def _expected(self) -> float | None:
        learning = self._services.learning
        return None if learning is None else learning.expected(self._delivery)

    async def set_size(self, size: float) -> None:
        """Learn by this size. If the lease is too short for it and has no heartbeat, renew it now."""
        number = checked(size)
        if number is None:
            msg = "set_size takes a number of at least 0, not None; nothing was changed"
            raise BadArgument(msg)
        try:
            await self._services.resize(self._delivery, number)
        finally:
            self._services.tell_size(self._delivery, number, self._expected())

    async def touch(self, seconds: float | None) -> None:
        """Renew now, for as long as the broker allows at most."""
        if seconds is not None:
            seconds = min(duration(seconds, "touch", least=0.001), self._services.max_lease_seconds)
        touch_now = self._services.heartbeat.touch_now
        await self._once_store_answers("ctx.touch", lambda: touch_now(self._delivery, seconds))

    def progress(self, progress: Progress) -> None:
        """Keep the value for the next write."""
        self._services.progress.note(self._delivery, progress)

    async def checkpoint(self, data: bytes) -> None:
        """Write it now: when this returns, the checkpoint is stored."""
        delivery, records = self._delivery, self._services.records
        if delivery.is_gone or not await self._once_store_answers(
            "ctx.checkpoint", lambda: records.checkpoint(delivery.lease, data)
        ):
            msg = f"the lease on {delivery.id} is lost; the checkpoint was not kept"
            raise LeaseLost(msg)

    async def load_checkpoint(self) -> bytes | None:
        """Load the checkpoint of an earlier run."""
        records, id = self._services.records, self._delivery.id
        return await self._once_store_answers("ctx.last_checkpoint", lambda: records.load_checkpoint(id))

    async def _once_store_answers(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Call the store, again and again while it is away. Raises `LeaseLost` once the run was ended from outside."""
        delivery, backoff = self._delivery, OutageBackoff(self._services.clock)
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
                if delivery.is_gone or delivery.left or delivery.ending is not None:
                    msg = f"the run of {delivery.id} was ended while {what} waited for the store; nothing was written"
                    raise LeaseLost(msg)
        finally:
            backoff.gave_up()

    def submit(self, call: Call[Any], options: Options) -> str:
        """Hand on with the ack. What `send` would refuse is refused here, while the handler can still react."""
        services, delivery = self._services, self._delivery
        out = delivery.next_hand_off(call, options, sent_at=services.wall())
        if services.telemetry is not None and delivery.message is not None:
            out = with_context(services.telemetry.handing_on(out, delivery.message))
        refused = refusal(services.broker, services.check, out)
        if refused is not None:
            raise error_of(refused)
        delivery.handoffs.append(out)
        return out.message.id
