"""Membership: this worker's place on the roster, from its first word to its goodbye.

A boot of a worker leases under one nonce. If that nonce is declared dead while it lives, it joins again under a new
one. Whoever stops says goodbye and retires itself, so that nobody has to find it gone.

Used by `worker.py`.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection, Sequence

import msgspec

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable, OwnerRetired
from tenure.event import Event, EventKind
from tenure.owner import DeadOwner, Owner, new_nonce
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.backoff import Backoff
from tenure.runtime.options import WorkerOptions
from tenure.runtime.sweeper import events_of_return, retire
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
        self._changed = asyncio.Event()
        self._is_leaving = False

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

    def serve(self, queues: Sequence[str]) -> None:
        """The queues that it serves have changed: `run` tells the roster."""
        self._options = msgspec.structs.replace(self._options, queues=tuple(queues))
        self.owner = msgspec.structs.replace(self.owner, queues=tuple(queues))
        self._changed.set()

    async def run(self) -> None:
        """Keep what the roster says of us up to date."""
        backoff = Backoff(self._clock)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._is_leaving:
                return
            try:
                await self._roster.join(self.owner)
                backoff.succeeded(logger, "joining the roster")
            except BrokerUnavailable as error:
                backoff.failed(logger, "joining the roster", error)
                self._changed.set()
                await backoff.pause()
            except OwnerRetired:
                logger.debug("%s was declared dead; its next lease joins under a new nonce", self.owner.id)

    async def leave(self) -> None:
        """Say goodbye, then do what a sweeper does for those that left."""
        owner, self._is_leaving = self.owner, True
        try:
            await self._roster.leave(owner)
        except BrokerError as error:
            logger.warning("%s could not say goodbye (%s); what it holds returns when its leases end", owner.id, error)
            return
        self._tell(EventKind.OWNER_LEFT)
        try:
            async for swept in retire(self._broker, DeadOwner(owner, "it said goodbye", left=True)):
                self._publish(events_of_return(swept, self._clock.wall(), "goodbye", owner.id))
        except BrokerUnavailable as error:
            logger.debug("%s could not retire itself (%s); a sweeper will", owner.id, error)

    def tell_joined(self) -> None:
        """The worker works."""
        self._tell(EventKind.OWNER_JOINED)

    def _tell(self, kind: EventKind) -> None:
        self._publish([Event(kind, self._clock.wall(), owner=self.owner.id)])
