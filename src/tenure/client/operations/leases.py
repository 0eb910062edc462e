"""Leases: what is held now, over all queues."""

from collections.abc import Sequence

from tenure.broker import MOST_LEASES, Leases
from tenure.client.operations.operations import Operations


class LeaseOperations(Operations):
    """What can be asked of leases."""

    async def leases(self, queues: Sequence[str] = (), *, limit: int = MOST_LEASES) -> Leases:
        """Return what is held now, soonest end first, with the store's time and its sweeps.

        - `queues`: Only these: names, or patterns.
        """
        raise NotImplementedError
