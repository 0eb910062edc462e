"""Fetching the results of a group: what its last message runs with is read when its handler begins.

The message itself names the group only, so it is small however many members there were. Like a body that was too large
(`ownership/blob_fetch.py`), the results are in `delivery.whole` when this returns. Before: `handling.py`.
"""

import logging

import msgspec

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.group import GROUP_HEADER
from tenure.groups.header import Headers
from tenure.groups.reading import GroupGone, GroupReading
from tenure.message import Message
from tenure.runtime.delivery import Delivery
from tenure.runtime.outage import OutageBackoff
from tenure.state import State
from tenure.verdict import Dead, Reason, Returned

logger = logging.getLogger("tenure.handling")

#: How long a message waits whose results could not be read.
_AWAY_SECONDS = 5.0


def has_group(message: Message) -> bool:
    """Whether a message waits for the results of a group. Asks no store."""
    return GROUP_HEADER in message.headers


class GroupFetch:
    """Reads results for handlers."""

    def __init__(self, state: State, clock: Clock) -> None:
        """Read nothing before a message asks."""
        self._reading = GroupReading(Headers(state))
        self._trouble = OutageBackoff(clock)

    async def bring(self, delivery: Delivery, message: Message) -> Dead | Returned | None:
        """None: `delivery.whole` has the results. A verdict: they cannot be read."""
        try:
            delivery.with_group = await self._reading.fill(message)
        except GroupGone as error:
            return Dead(Reason("group_gone", f"the results of group {error} were forgotten; run its calls again"))
        except (msgspec.MsgspecError, KeyError) as error:
            return Dead(Reason("group_gone", f"its payload names no group whose results can be read: {error}"))
        except BrokerUnavailable as error:
            self._trouble.failed(logger, "reading the results of groups", error)
            return Returned(_AWAY_SECONDS, Reason(error.code, f"the results of its group cannot be read: {error}"))
        self._trouble.succeeded(logger, "reading the results of groups")
        return None
