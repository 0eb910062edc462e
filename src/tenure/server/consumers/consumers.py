"""Consumers: all that the routes need to lease messages to clients and to take them back.

Made by `server.py`, started and stopped with it.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from urllib.parse import quote

from tenure.app import Tenure
from tenure.client.signing import Signing
from tenure.event import Event
from tenure.runtime.background.sampler import Sampler
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.ownership import Ownership
from tenure.server.consumers.activity import Activity
from tenure.server.consumers.lease_token import LeaseName, LeaseTokens, name_of
from tenure.server.consumers.leased_here import LeasedHere
from tenure.server.consumers.leasing import Flight, LeaseAsk, Leasing
from tenure.server.consumers.lookup import Lookup
from tenure.server.consumers.queue_choice import QueueChoice
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.server.consumers.reporting import Reporting
from tenure.server.consumers.settling import Judge, SettleAnswer, Settling
from tenure.server.consumers.touching import TouchAnswer, TouchAsk, Touching
from tenure.server.principal import Principal
from tenure.timing.tallied import store_seconds

#: A longer name of a principal is cut in the owner of its leases.
_LONGEST_NAME = 64


class Consumers:
    """The consumers of one server."""

    def __init__(
        self, app: Tenure, signing: Signing, statistics: Statistics, publish: Callable[[Sequence[Event]], None]
    ) -> None:
        """Lease from the broker of `app`, which is open. `signing` signs tokens."""
        #: Writes and reads the tokens of leases.
        self.tokens = LeaseTokens(signing)
        self._ownership = app.ownership()
        here = LeasedHere()
        lookup = Lookup(app, here)
        every = store_seconds(app.broker.traits.snapshot_seconds)
        self.activity = Activity(
            app.state.key_values, app.clock, app.state.wall, name=os.urandom(8).hex(), every_seconds=every
        )
        # A client may run on any machine.
        self._sampler = Sampler(app.state.journal, hardware="")
        reporting = Reporting(app, statistics, publish, self.activity, self._ownership.bodies, self._sampler)
        self._settling = Settling(app, self._ownership, here, lookup, reporting)
        self._touching = Touching(app, lookup, reporting)
        self.choice = QueueChoice(app)
        self._leasing = Leasing(app, self._ownership, here, self.choice, self._settling.settle_here)
        self._wall = app.state.wall
        self._jobs: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin what runs beside requests."""
        create = asyncio.get_running_loop().create_task
        self._jobs = [create(job()) for job in (self.activity.run, self._ownership.bodies.run, self._sampler.run)]

    async def stop(self) -> None:
        """Let requests under way end, and end what runs beside them."""
        await self._leasing.close()
        await cancel(self._jobs)
        await self._sampler.flush()
        await self._ownership.bodies.flush()
        await self.activity.close()

    @property
    def ownership(self) -> Ownership:
        """Takes messages and gives them up."""
        return self._ownership

    async def lease(self, ask: LeaseAsk, flight: Flight) -> list[RemoteDelivery]:
        """The messages for one request; see `Leasing.lease`."""
        self.activity.heard(ask.owner, ask.queues)
        return await self._leasing.lease(ask, flight)

    async def give_back(self, deliveries: Sequence[RemoteDelivery]) -> None:
        """Give messages back that no client got."""
        await self._leasing.give_back(deliveries)

    async def settle(self, asked: Sequence[tuple[LeaseName, Judge]]) -> list[SettleAnswer]:
        """One answer for each entry, in order."""
        return await self._settling.settle(asked)

    async def touch(self, asked: Sequence[TouchAsk]) -> list[TouchAnswer]:
        """One answer for each entry, in order."""
        return await self._touching.touch(asked)

    def name_of(self, delivery: RemoteDelivery) -> LeaseName:
        """The name of a lease, for its token."""
        return name_of(delivery.lease, delivery.message, delivery.token, self._wall())


def owner_of(principal: Principal, consumer: str) -> str:
    """The owner of the leases of one consumer."""
    return f"http:{principal.id or quote(principal.name, safe='')[:_LONGEST_NAME]}/{consumer}"
