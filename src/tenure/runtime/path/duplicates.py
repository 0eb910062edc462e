"""Duplicates: finds out why a message came again that was done before.

Called by `admission.py` for messages that the ledger knows as done. The journal knows what earlier runs did; what it
does not show stays unknown.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.errors import BrokerError
from tenure.rules.duplicate_cause import duplicate_cause
from tenure.runtime.delivery import Delivery
from tenure.state import Journal
from tenure.verdict import Duplicate

#: Of very many at once only so many are looked up: each costs a read, and the others have the same cause.
_MOST = 20
_MOST_EVENTS = 100


class Duplicates:
    """Finds out why messages came again."""

    def __init__(self, journal: Journal) -> None:
        """Look in `journal`."""
        self._journal = journal

    async def look(self, found: Sequence[tuple[Delivery, Duplicate]]) -> list[tuple[Delivery, Duplicate]]:
        """Say why each of them came again, as far as that is known."""
        causes = await asyncio.gather(*(self._look(delivery) for delivery, _ in found[:_MOST]))
        known = [
            (delivery, msgspec.structs.replace(verdict, cause=cause))
            for (delivery, verdict), cause in zip(found, causes, strict=False)
        ]
        return [*known, *found[_MOST:]]

    async def _look(self, delivery: Delivery) -> str | None:
        try:
            stored = await self._journal.about(delivery.id, limit=_MOST_EVENTS)
        except BrokerError:  # away: then it is only known that it was done
            return None
        message = delivery.message
        return duplicate_cause(
            [one.event for one in stored],
            deliveries=delivery.lease.counters.deliveries,
            sent_at=None if message is None else message.sent_at,
        )
