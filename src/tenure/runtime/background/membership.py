"""Membership: this worker's entry on the roster, from joining to leaving.

A boot of a worker leases under one nonce. If that nonce is declared dead while the worker lives, the worker joins again
under a new one. A worker that stops leaves the roster and retires itself, so that no sweep has to prove its death.

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
from tenure.runtime.background.sweeper import events_of_return, retire
from tenure.runtime.options import WorkerOptions
from tenure.runtime.outage import OutageBackoff
from tenure.state import Roster

logger = logging.getLogger("tenure.worker")

Publish = Callable[[Sequence[Event]], None]


class Membership:
    """The membership of one worker: the owner of its leases, on and off the roster."""

    def __init__(
        self,
        broker: Broker,
        roster: Roster,
        clock: Clock,
        publish: Publish,
        options: WorkerOptions,
        *,
        tasks: Collection[str],
        probe: Probe = SYSTEM_PROBE,
    ) -> None:
        """Make a new owner, not on the roster yet. `tasks` may still grow until it joins."""
        self._broker = broker
        self._roster = roster
        self._clock = clock
        self._publish = publish
        self._options = options
        self._tasks = tasks
        self.probe = probe
        self.owner = self._new_owner()
        #: Told of each owner that was put on the roster.
        self.on_joined: Callable[[Owner], None] = lambda _: None
        self._changed = asyncio.Event()
        self._is_leaving = False

    def _new_owner(self) -> Owner:
        host, options, process = socket.gethostname(), self._options, self.probe.me()
        return Owner(
            name=options.name or f"{host}:{os.getpid()}",
            nonce=new_nonce(),
            host=host,
            pid=process.pid,
            boot_id=process.boot_id,
            started_at=self._clock.wall(),
            queues=options.queues,
            concurrency=options.concurrency,
            tasks=tuple(self._tasks),
            pid_namespace=process.pid_namespace,
            process_start=process.start,
            slot=options.slot,
        )

    async def join(self) -> None:
        """Be on the roster before the first lease."""
        self.owner = msgspec.structs.replace(self.owner, tasks=tuple(self._tasks))
        await self._roster.join(self.owner)
        self.on_joined(self.owner)

    @property
    def owner_id(self) -> str:
        """The id of the owner on its leases."""
        return self.owner.id

    async def rejoin(self) -> None:
        """Join under a new nonce, because ours is banned.

        What we hold was returned already; the heartbeat will find it lost.
        """
        owner = self._new_owner()
        await self._roster.join(owner)
        self.owner = owner  # only now: a holder that is not on the roster would lease without presence
        self.on_joined(owner)

    def serve(self, queues: Sequence[str]) -> None:
        """The queues that it serves have changed: `run` writes them to the roster."""
        self._options = msgspec.structs.replace(self._options, queues=tuple(queues))
        self.owner = msgspec.structs.replace(self.owner, queues=tuple(queues))
        self._changed.set()

    async def run(self) -> None:
        """Keep our entry on the roster up to date."""
        backoff = OutageBackoff(self._clock)
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

    async def leave(self, why: str = "") -> None:
        """Leave the roster, and return what we hold, as a sweeper does for dead workers.

        `why`: an operator had us leave.
        """
        owner, self._is_leaving = self.owner, True
        try:
            await self._roster.leave(owner)
        except BrokerError as error:
            logger.warning(
                "%s could not sign off the roster (%s); what it holds returns when its leases end", owner.id, error
            )
            return
        self._tell(EventKind.OWNER_LEFT, **({"reason": why} if why else {}))
        try:
            async for swept in retire(self._broker, DeadOwner(owner, "it said goodbye", left=True)):
                self._publish(events_of_return(swept, self._clock.wall(), "goodbye", owner.id))
        except BrokerUnavailable as error:
            logger.debug("%s could not retire itself (%s); a sweeper will do it", owner.id, error)

    def tell_joined(self) -> None:
        """Publish that the worker has joined."""
        self._tell(EventKind.OWNER_JOINED)

    def _tell(self, kind: EventKind, **data: str) -> None:
        self._publish([Event(kind, self._clock.wall(), owner=self.owner.id, data=data)])
