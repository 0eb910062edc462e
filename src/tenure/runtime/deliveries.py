"""Deliveries: announces what has ended, and posts webhooks, beside a worker or a server.

    announcing    reads announcements and makes deliveries of them; of many processes the one that has the turn
    worker        runs the deliveries: a worker of its own on the reserved queue, so they take no slot from users' tasks

Where nothing asks for a webhook that is one small read each half second (in the cloud each few seconds,
`BrokerTraits.announce_seconds`). The worker begins with the first endpoint. Made by `app.worker` and by the server.
"""

import asyncio
import contextlib
import importlib.util
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

from tenure.broker import Broker
from tenure.client.claim_check import ClaimCheck, ClaimCheckSender
from tenure.client.operator import Operator
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.groups.assembly import Groups
from tenure.groups.keeper import LOOK_SECONDS as GROUP_SECONDS
from tenure.monitoring.metrics.sample import Sample
from tenure.monitoring.metrics.work import webhook_samples
from tenure.monitoring.telemetry import Telemetry
from tenure.rules.reserved_queue import reserved_queue
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.options import WorkerOptions
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.worker import Worker
from tenure.sink import Sink
from tenure.state import State
from tenure.text.plural import plural
from tenure.webhooks.assembly import Webhooks
from tenure.webhooks.deliver import LEASE_SECONDS, Deliverer, delivery_task

logger = logging.getLogger("tenure.webhooks")

#: What the turn is called.
TURN = "announce"
_TURN_SECONDS = 5.0
#: When so much of a turn has passed it is renewed.
_RENEW_AFTER = 0.5
#: So many deliveries at once in one process: four times as many as requests to one host, so that a receiver which does
#: not answer leaves room for others. A delivery only waits, so a slot costs next to nothing.
SLOTS = 64
#: How often to look for the first endpoint. In the cloud ten times as rare as announcements are read.
_LOOK_SECONDS = 5.0
_LOOKS = 10


class Deliveries:
    """The announcer of one process, and its worker for deliveries."""

    def __init__(  # noqa: PLR0913 - made in one place, by the app
        self, broker: Broker, state: State, clock: Clock, webhooks: Webhooks, options: WorkerOptions, *,
        opening: Callable[[], Awaitable[None]], namespace: str | None = None, claim_check: ClaimCheck | None = None,
        sinks: Sequence[Sink] = (),
        telemetry: Telemetry | None = None,
    ) -> None:  # fmt: skip
        """Work on this broker and state. Of the `options` the sweep and where things run count."""
        self._telemetry = telemetry
        self._broker = broker
        self._state = state
        self._clock = clock
        self._webhooks = webhooks
        self._options = options
        self._opening = opening
        self._queue = reserved_queue(namespace)
        self._namespace = namespace
        self._sinks = tuple(sinks)
        self._bus = Bus(state.journal, sinks)
        sender = ClaimCheckSender(broker, claim_check)
        operator = Operator(broker, state, clock, by="group", triggered_by="group")
        groups = Groups(broker, state, sender.send, operator.cancel)
        self._keeper = groups.keeper
        self._announcer = webhooks.announcer(sender.send, {groups.kind.name: groups.kind})
        self._token = os.urandom(8).hex()
        #: Endings that were announced here, and lanes whose endings wait.
        self._announced = self._lanes_waiting = 0
        #: When the oldest ended that is not announced, as last read.
        self._oldest_at: float | None = None
        #: Until when the turn is ours, and from when on it is renewed.
        self._ours_until = self._renew_at = float("-inf")
        self._look_at = float("-inf")
        self._worker: Worker | None = None
        self._deliverer: Deliverer | None = None
        self._jobs: list[asyncio.Task[None]] = []
        self._telling: asyncio.Task[None] | None = None

    @property
    def is_delivering(self) -> bool:
        """Whether the worker for deliveries runs."""
        return self._worker is not None

    def metrics(self) -> list[Sample]:
        """What was announced and delivered by this process."""
        return [
            Sample("tenure_announcements_total", (), self._announced),
            Sample("tenure_announcement_lanes_waiting", (), self._lanes_waiting),
            Sample("tenure_announcement_oldest_seconds", (), self._oldest_seconds()),
            *([] if self._worker is None else webhook_samples(self._worker.series())),
        ]

    def _oldest_seconds(self) -> float:
        return 0.0 if self._oldest_at is None else max(0.0, self._state.wall() - self._oldest_at)

    async def start(self) -> None:
        """Begin; returns at once."""
        create = asyncio.get_running_loop().create_task
        parts = (self._announce, self._deliver, self._keep_groups)
        self._jobs = [create(part(), name=f"tenure-{part.__name__.strip('_')}") for part in parts]
        self._telling = create(self._bus.run())

    async def stop(self) -> None:
        """Announce no more, and let the deliveries that run finish within the grace."""
        await cancel(self._jobs)
        self._jobs = []
        await self._stop_worker()
        if self._deliverer is not None:
            await self._deliverer.close()
        with contextlib.suppress(BrokerUnavailable):  # it lapses by itself
            if self._clock.monotonic() < self._ours_until:
                await self._state.board.take_turn(TURN, self._token, 0.0)
        self._bus.close()
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)

    async def abandon(self) -> None:
        """End as after `kill -9`, for tests: the turn is kept, and deliveries stay leased."""
        await cancel([*self._jobs, *([] if self._telling is None else [self._telling])])
        if self._worker is not None:
            await self._worker.abandon()
        if self._deliverer is not None:
            await self._deliverer.close()

    # -- announcing --------------------------------------------------------------------------------

    async def _announce(self) -> None:
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                pause = await self.announce_once()
            except BrokerUnavailable as error:
                backoff.failed(logger, "announcing", error)
                await backoff.pause()
                continue
            except Exception:
                # An ending that cannot be announced stays; the others must not wait for a person.
                logger.exception("announcing failed; nothing is lost, and it is tried again")
                pause = _LOOK_SECONDS
            backoff.succeeded(logger, "announcing")
            await asyncio.sleep(pause)

    async def announce_once(self) -> float:
        """Announce what waits, if it is our turn. Returns the seconds until the next look."""
        every = self._broker.traits.announce_seconds
        oldest = await self._broker.announcements("", 1)
        self._oldest_at = min((one.ended_at for one in oldest), default=None)
        if not oldest or not await self._take_turn():
            self._lanes_waiting = 0
            return every
        announced = await self._announcer.run_once()
        self._announced += announced.done
        self._lanes_waiting = len(announced.waiting)
        return min(every, announced.again_seconds)

    async def _take_turn(self) -> bool:
        """Whether it is our turn. It saves work, and decides nothing."""
        now = self._clock.monotonic()
        if now >= self._renew_at:
            seconds = max(_TURN_SECONDS, 3 * self._broker.traits.announce_seconds)
            ours = await self._state.board.take_turn(TURN, self._token, seconds)
            self._ours_until = now + seconds if ours else float("-inf")
            self._renew_at = now + (seconds * _RENEW_AFTER if ours else self._broker.traits.announce_seconds)
        return now < self._ours_until

    # -- groups ------------------------------------------------------------------------------------

    async def _keep_groups(self) -> None:
        """Bring to their end the groups that no announcement ends."""
        backoff = OutageBackoff(self._clock)
        while True:
            await asyncio.sleep(max(GROUP_SECONDS, _LOOKS * self._broker.traits.announce_seconds))
            try:
                await self._keeper.look()
            except BrokerUnavailable as error:
                backoff.failed(logger, "looking after groups", error)
                continue
            except Exception:
                logger.exception("looking after groups failed; nothing is lost, and it is tried again")
            backoff.succeeded(logger, "looking after groups")

    # -- delivering --------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        """Wait for the first endpoint, or for a delivery of an earlier time; run the worker, and again if it dies."""
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                if await self._has_deliveries() and (not self._can_deliver() or await self._run_worker()):
                    return
                backoff.succeeded(logger, "looking for webhook endpoints")
            except BrokerUnavailable as error:
                backoff.failed(logger, "looking for webhook endpoints", error)
                await backoff.pause()
                continue
            except Exception:
                logger.exception("webhooks cannot be delivered here; it is tried again")
            await asyncio.sleep(max(_LOOK_SECONDS, _LOOKS * self._broker.traits.announce_seconds))

    async def _run_worker(self) -> bool:
        """Run the worker until it ends by itself. True: an operator had it leave, so it is not started again."""
        worker = await self._start_worker()
        await worker.asked_to_stop()
        await self._stop_worker()
        return bool(worker.leaving)

    async def _stop_worker(self) -> None:
        """Stop the worker. What it died of stops nothing else: its deliveries are leased again, here or elsewhere."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.ask_to_stop()
        try:
            await worker.stop()
        except Exception:
            logger.exception("the worker that delivers webhooks has died")

    async def _has_deliveries(self) -> bool:
        if await self._webhooks.reader.all():
            return True
        (depth,) = await self._broker.depth([self._queue])
        return bool(depth.ready or depth.delayed or depth.leased)

    def _can_deliver(self) -> bool:
        """Whether the packages for it are installed; said once where they are not."""
        lacks = [name for name in ("aiohttp", "cryptography") if importlib.util.find_spec(name) is None]
        if lacks:
            logger.warning(
                "webhooks are not delivered by this process, because %s is not installed; their endings wait for "
                "another one. pip install 'tenure[webhooks]'", " and ".join(lacks),
            )  # fmt: skip
        return not lacks

    async def _start_worker(self) -> Worker:
        if self._deliverer is not None:
            await self._deliverer.close()
        deliverer = self._webhooks.deliverer(
            publish=lambda event: self._bus.publish([event]), detail=self._options.detail, telemetry=self._telemetry
        )
        task = delivery_task(deliverer, self._namespace)
        name = self._options.name or f"{socket.gethostname()}:{os.getpid()}"
        options = WorkerOptions(
            concurrency=SLOTS,
            queues=(self._queue,),
            name=f"{name}/webhooks",
            lease_seconds=LEASE_SECONDS,
            grace_seconds=self._options.grace_seconds,
            sweep=self._options.sweep,
            journal_keep_seconds=self._options.journal_keep_seconds,
            own_thread=self._options.own_thread,
            learning=False,
            tallies=False,
            detail=self._options.detail,
        )
        worker = Worker(
            self._broker, self._state, {task.name: task}, self._clock, options, opening=self._opening, locate=_locate,
            sinks=self._sinks,
        )  # fmt: skip
        self._deliverer = deliverer
        await worker.start()
        self._worker = worker
        logger.debug("%s delivers webhooks with %s", worker.owner_id, plural(SLOTS, "slot"))
        return worker


def _locate(_task: Any) -> NoReturn:
    msg = "deliveries run in the loop, not in a child process"
    raise RuntimeError(msg)
