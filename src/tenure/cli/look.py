"""Every message of some queues and states, read as far as it can be read: for commands that go through all of them.

Used by `sweep`, `--until-empty` and the demo; lists for people are pages (`client/operations`).
"""

from collections.abc import AsyncIterator, Sequence

import msgspec

from tenure.broker import Broker, Browsed, Query
from tenure.client.browse_all import browse_all
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.listed_message import read_envelope
from tenure.message import Message, MessageState

_PAGE = 500


class WaitingMessage(msgspec.Struct, frozen=True):
    """One message in a queue, with its envelope decoded where that works."""

    browsed: Browsed
    message: Message | None

    @property
    def task(self) -> str | None:
        """The task, where it is known."""
        return None if self.message is None else self.message.task

    def age_seconds(self, wall: float) -> float | None:
        """Seconds since it was sent."""
        return None if self.message is None else max(0.0, wall - self.message.sent_at)


async def look(
    broker: Broker,
    queues: Sequence[str],
    states: Sequence[MessageState],
    limit: int | None = None,
    *,
    scan: bool = False,
) -> AsyncIterator[WaitingMessage]:
    """Messages of these queues and states, in the order of each state (`Query`); at most `limit`.

    `scan`: also by a paid scan, where a state is shown only so.
    """
    check_shown(broker, states, scan=scan or None)
    if not queues or not states or limit == 0:
        return
    size = _PAGE if limit is None else min(_PAGE, limit)
    found = 0
    async for browsed in browse_all(broker, Query(states=tuple(states), queues=tuple(queues), limit=size, scan=scan)):
        yield WaitingMessage(browsed, read_envelope(browsed.envelope)[0])
        found += 1
        if found == limit:
            return
