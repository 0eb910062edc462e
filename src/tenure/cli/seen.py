"""Messages as an operator sees them: what the broker shows, read as far as it can be read.

Used by `messages`, `dead` and the demo. Looking changes nothing.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from tenure import envelope
from tenure.broker import Broker, Browsed, Query
from tenure.client.browse_all import browse_all
from tenure.errors import BodyUndecodable, NotBrowsable
from tenure.message import Message, MessageState
from tenure.record import Progress, Record

_PAGE = 500
#: Those that `tenure queues` has a figure for.
_COUNTED = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED, MessageState.DEAD})


class Seen(msgspec.Struct, frozen=True):
    """One message in a queue, with its envelope decoded where that works."""

    browsed: Browsed
    message: Message | None
    #: Why the envelope could not be read; empty where it could.
    unreadable: str = ""
    #: Of what is finished: the envelope is gone, and the record knows the rest.
    record: Record | None = None
    #: Of what runs: how far its handler says it is. None: it does not say, or nobody asked.
    progress: Progress | None = None
    #: Of what is completed: how long the run took. None: the journal does not have it any more, or nobody asked.
    seconds: float | None = None

    @property
    def task(self) -> str | None:
        """The task, where it is known."""
        if self.record is not None:
            return self.record.task
        return None if self.message is None else self.message.task

    def age_seconds(self, wall: float) -> float | None:
        """Seconds since it was sent."""
        sent_at = self.record.sent_at if self.record is not None else self.message.sent_at if self.message else None
        return None if sent_at is None else max(0.0, wall - sent_at)

    def as_json(self, wall: float) -> dict[str, Any]:
        """For `--json`."""
        seen, age = self.browsed, self.age_seconds(wall)
        return {
            "id": seen.id, "queue": seen.queue, "task": self.task, "state": seen.state, "counters": seen.counters,
            "owner": seen.owner, "fence": seen.fence, "deadline_in": seen.deadline_in, "due_in": seen.due_in,
            "age_seconds": None if age is None else round(age, 3),
            "reason": None if seen.reason is None else {"code": seen.reason.code, "text": seen.reason.text},
            "readable": self.message is not None,
            # Set: its body lies in a cloakroom, this large.
            "ticket": None if self.message is None else self.message.ticket,
            "finished_at": None if self.record is None else self.record.finished_at,
            "progress": self.progress, "seconds": self.seconds,
        }  # fmt: skip


def read(browsed: Browsed) -> Seen:
    """Decode what can be decoded."""
    try:
        return Seen(browsed, envelope.decode(browsed.envelope))
    except BodyUndecodable as error:
        return Seen(browsed, None, str(error))


def check_shown(
    broker: Broker, states: Sequence[MessageState], *, consequence: str = "", scan: bool | None = None
) -> None:
    """Raise `NotBrowsable`, with what to do instead, unless the broker shows what is in these states.

    `scan`: whether a paid scan was asked for. None: the command has none.
    """
    hidden = hidden_states(broker, states, scan=bool(scan))
    if not hidden:
        return
    if scan is False and broker.traits.scannable.issuperset(hidden):
        what = " or ".join(hidden)
        why = "reading its whole table, which is paid for by the row"
        raise NotBrowsable(f"this broker lists no {what} messages but by {why}; --scan does it. {consequence}".rstrip())
    raise NotBrowsable(" ".join(f"{instead(hidden)}. {consequence}".split()))


def hidden_states(broker: Broker, states: Sequence[MessageState], *, scan: bool = False) -> list[MessageState]:
    """Those of which the broker shows none. `scan`: not even by a paid scan."""
    shown = broker.traits.browsable | (broker.traits.scannable if scan else frozenset())
    return [state for state in states if state not in shown]


def instead(hidden: Sequence[MessageState]) -> str:
    """What cannot be shown, and where it can be seen."""
    what = " or ".join(hidden)
    counted = "tenure queues counts them, and " if _COUNTED.intersection(hidden) else ""
    told = f"{counted}tenure show ID tells of one"
    why = "it cannot without taking them" if _COUNTED.intersection(hidden) else "it keeps no list of them"
    return f"this broker lists no {what} messages, because {why}; {told}"


async def look(
    broker: Broker,
    queues: Sequence[str],
    states: Sequence[MessageState],
    limit: int | None = None,
    *,
    scan: bool = False,
) -> AsyncIterator[Seen]:
    """Messages of these queues and states, in the order of each state (`Query`); at most `limit`.

    `scan`: also by a paid scan, where a state is shown only so.
    """
    check_shown(broker, states, scan=scan or None)
    if not queues or not states or limit == 0:
        return
    size = _PAGE if limit is None else min(_PAGE, limit)
    found = 0
    async for browsed in browse_all(broker, Query(states=tuple(states), queues=tuple(queues), limit=size, scan=scan)):
        yield read(browsed)
        found += 1
        if found == limit:
            return
