"""Lookup: from the names in tokens to leases, wherever and whenever they were lent.

Where the broker checks owner and fence by itself, what this process lent is taken from memory. Everywhere else the
broker is asked for the lease as it is now: another server may have touched it, and a touch may replace its receipt.
"""

import asyncio
from collections.abc import Sequence

from tenure import envelope
from tenure.app import Tenure
from tenure.errors import BodyUndecodable, BrokerUnavailable
from tenure.lease import Lease
from tenure.message import Message, MessageState
from tenure.record import Record
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.leased_here import LeasedHere
from tenure.server.consumers.remote_delivery import RemoteDelivery

#: This many leases are looked up at once.
_AT_ONCE = 32

Found = RemoteDelivery | BrokerUnavailable | None


class Lookup:
    """Finds leases by their names."""

    def __init__(self, app: Tenure, here: LeasedHere) -> None:
        """Look in memory, and ask the broker of `app`."""
        self._app = app
        self._here = here
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def find(self, names: Sequence[LeaseName]) -> list[Found]:
        """The delivery of each name. None: its lease has ended. An error: it is not known for now."""
        known = [self._here.get(name.place, name.owner) for name in names]
        if self._app.broker.traits.settles_exactly_once and all(one is not None for one in known):
            return list(known)
        return await asyncio.gather(*map(self._find, names, known))

    async def _find(self, name: LeaseName, known: RemoteDelivery | None) -> Found:
        broker = self._app.broker
        if known is not None and (broker.traits.settles_exactly_once or known.sealed):
            return known
        async with self._gate:
            try:
                lease = await broker.find(name.id, name.owner, name.fence, name.queue)
            except BrokerUnavailable as error:
                return error
        if lease is None:
            return None
        if known is not None:
            known.lease = lease
            return known
        return self._delivery(name, lease)

    def _delivery(self, name: LeaseName, lease: Lease) -> RemoteDelivery:
        """Make the delivery of a lease that is not here, from what its token and its envelope say."""
        message = _message_in(lease)
        # What Tenure did not send was read by a route of the app when it was leased.
        is_routed = message is None and bool(lease.envelope)
        message = name.stub if message is None else message
        app = self._app
        started = app.clock.monotonic() - max(0.0, app.state.wall() - name.at)
        return RemoteDelivery(lease, message, is_routed=is_routed, started=started, token=name.token)

    async def record(self, name: LeaseName) -> Record | None:
        """What the store says of a message whose lease has ended."""
        async with self._gate:
            return await self._app.state.records.get(name.id, name.queue)


def _message_in(lease: Lease) -> Message | None:
    try:
        return envelope.decode(lease.envelope)
    except BodyUndecodable:
        return None


def is_cancelled(record: Record | None) -> bool:
    """Whether the message was cancelled."""
    return record is not None and record.state is MessageState.CANCELLED
