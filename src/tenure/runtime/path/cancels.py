"""Cancels: finds out whether a lost message was cancelled, and by whom.

A cancel by a user is not an error of the worker.

Called by `outbox.py` for messages that were not settled, so that `reporting.py` can name the reason. The record shows
the cancel, and the journal shows who did it.
"""

import asyncio
from collections.abc import Sequence

from tenure.errors import BrokerError
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.runtime.delivery import Delivery
from tenure.state import Journal, Records

#: The event may be older than the record by so much, where clocks differ.
_BEFORE_SECONDS = 60.0
_MOST_EVENTS = 100


class Cancels:
    """Finds out who cancelled a message that this worker held."""

    def __init__(self, records: Records, journal: Journal) -> None:
        """Look in `records` and `journal`."""
        self._records = records
        self._journal = journal

    async def look(self, deliveries: Sequence[Delivery]) -> None:
        """Note on each delivery who cancelled it, if it was cancelled."""
        await asyncio.gather(*map(self._look, deliveries))

    async def _look(self, delivery: Delivery) -> None:
        try:
            record = await self._records.get(delivery.id)
            if record is None or record.state is not MessageState.CANCELLED:
                return
            delivery.cancelled_by = ""
            since = (record.finished_at or 0.0) - _BEFORE_SECONDS
            for stored in await self._journal.about(delivery.id, since=since, limit=_MOST_EVENTS):
                if stored.event.kind is EventKind.CANCELLED:
                    delivery.cancelled_by = _who(stored.event.data)
        except BrokerError:  # away again: then it is only known that the lease is lost
            return


def _who(data: dict[str, object]) -> str:
    by, door = data.get("by"), data.get("triggered_by")
    return f"{by} ({door})" if by and door else str(by or door or "")
