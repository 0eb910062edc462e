"""Leases: what is held now, over all queues."""

from collections.abc import Sequence

import msgspec

from tenure.broker import MOST_LEASES, Leases
from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.redaction import without_note


class LeaseOperations(Operations):
    """What can be asked of leases."""

    async def leases(self, queues: Sequence[str] = (), *, limit: int = MOST_LEASES) -> Leases:
        """Return what is held now, soonest end first, with the store's time and its sweeps.

        - `queues`: Only these: names, or patterns.
        """
        access = await self._opened()
        wanted = await wanted_queues(access, queues)
        # With nothing to see, the time and the sweeps are still told.
        found = await access.broker.leases(wanted or None, limit=0 if wanted == () else limit)
        leases = [one for one in found.leases if access.sees(one.queue)]
        shown = leases if access.sees_payload else map(without_note, leases)
        return msgspec.structs.replace(found, leases=tuple(shown), is_cut=found.is_cut and wanted != ())
