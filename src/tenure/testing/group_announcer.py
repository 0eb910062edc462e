"""Groups in a kit: beside its worker runs what enters endings into groups, and looks after those that are open.

Outside of a kit that is `runtime/deliveries.py`, which posts webhooks too; a kit posts none.
"""

import asyncio
import contextlib

from tenure.client.claim_check import ClaimCheck, ClaimCheckSender
from tenure.client.operator import Operator
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.group import GROUP_TARGET
from tenure.groups.assembly import Groups
from tenure.monitoring.metrics.sample import Sample
from tenure.runtime.background.side_thread import cancel
from tenure.testing.wire import Wire
from tenure.webhooks.window import TakenOver

_ENTER_SECONDS, _KEEP_SECONDS = 0.1, 1.0


class GroupAnnouncer:
    """What a kit's worker has beside it."""

    def __init__(self, wire: Wire, clock: Clock, check: ClaimCheck | None) -> None:
        """Talk to the store through the worker's own wire: faults strike here too."""
        self._broker = wire.broker
        operator = Operator(wire.broker, wire.state, clock, by="group", triggered_by="group")
        self._groups = Groups(wire.broker, wire.state, ClaimCheckSender(wire.broker, check).send, operator.cancel)
        self._jobs: list[asyncio.Task[None]] = []

    def metrics(self) -> list[Sample]:
        """None of its own."""
        return []

    async def start(self) -> None:
        """Begin; returns at once."""
        create = asyncio.get_running_loop().create_task
        self._jobs = [create(self._enter()), create(self._keep())]

    async def stop(self) -> None:
        """End. A group that was not brought to its end is, the next time."""
        await cancel(self._jobs)

    async def abandon(self) -> None:
        """End as after `kill -9`."""
        await cancel(self._jobs)

    async def _enter(self) -> None:
        while True:
            with contextlib.suppress(BrokerUnavailable, TakenOver):
                await self._enter_page()
            await asyncio.sleep(_ENTER_SECONDS)

    async def _enter_page(self) -> None:
        page = await self._broker.announcements()
        ours = [(one, target) for one in page for target in one.targets if target.startswith(GROUP_TARGET)]
        if ours:
            await self._groups.kind.begin(ours)
            await self._broker.announced([ending for ending, _ in ours])

    async def _keep(self) -> None:
        while True:
            with contextlib.suppress(BrokerUnavailable):
                await self._groups.keeper.look()
            await asyncio.sleep(_KEEP_SECONDS)
