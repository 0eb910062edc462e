"""Membership: this worker's place on the roster, from its first word to its goodbye.

A boot of a worker leases under one nonce. If that nonce is declared dead while it lives, it joins again under a new
one. Whoever stops says goodbye and retires itself, so that nobody has to find it gone.

Used by `worker.py`.
"""

import logging
import os
import socket
from collections.abc import Callable, Collection, Sequence

import msgspec

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.owner import DeadOwner, Owner, new_nonce
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.options import WorkerOptions
from tenure.runtime.sweeper import retire
from tenure.state import Roster

logger = logging.getLogger("tenure.worker")

Publish = Callable[[Sequence[Event]], None]


class Membership:
    """Who holds this worker's leases."""

    def __init__(
        self, broker: Broker, roster: Roster, clock: Clock, publish: Publish, options: WorkerOptions, *,
        tasks: Collection[str], probe: Probe = SYSTEM_PROBE,
    ) -> None:  # fmt: skip
        """A new boot, not on the roster yet. `tasks` may still grow until it joins."""
        self._broker = broker
        self._roster = roster
        self._clock = clock
        self._publish = publish
        self._options = options
        self._tasks = tasks
        self.probe = probe
        self.owner = self._new_owner()

    def _new_owner(self) -> Owner:
        host, options, process = socket.gethostname(), self._options, self.probe.me()
        return Owner(
            name=options.name or f"{host}:{os.getpid()}", nonce=new_nonce(), host=host, pid=process.pid,
            boot_id=process.boot_id, started_at=self._clock.wall(), queues=options.queues,
            concurrency=options.concurrency, tasks=tuple(self._tasks), pid_namespace=process.pid_namespace,
            process_start=process.start, slot=options.slot,
        )  # fmt: skip

    async def join(self) -> None:
        """Be on the roster before the first lease."""
        self.owner = msgspec.structs.replace(self.owner, tasks=tuple(self._tasks))
        await self._roster.join(self.owner)

    async def rejoin(self) -> None:
        """Our nonce is banned. What we hold is returned already: the heartbeat will find it lost."""
        owner = self._new_owner()
        await self._roster.join(owner)
        self.owner = owner  # only now: a holder that is not on the roster would lease without presence

    async def leave(self) -> None:
        """Say goodbye, then do what a sweeper does for those that left."""
        owner = self.owner
        try:
            await self._roster.leave(owner)
        except BrokerError as error:
            logger.warning("%s could not say goodbye (%s); what it holds returns when its leases end", owner.id, error)
            return
        self._tell(EventKind.OWNER_LEFT)
        try:
            async for swept in retire(self._broker, DeadOwner(owner, "it said goodbye", left=True)):
                if swept.returned:
                    ids = list(swept.returned)
                    data = {"count": len(ids), "dlq_count": 0, "ids": ids, "triggered_by": "goodbye"}
                    self._tell(EventKind.REQUEUE, data)
        except BrokerUnavailable as error:
            logger.debug("%s could not retire itself (%s); a sweeper will", owner.id, error)

    def tell_joined(self) -> None:
        """The worker works."""
        self._tell(EventKind.OWNER_JOINED)

    def _tell(self, kind: EventKind, data: dict[str, object] | None = None) -> None:
        self._publish([Event(kind, self._clock.wall(), owner=self.owner.id, data=data or {})])
