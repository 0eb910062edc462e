"""A choice of events, by filters. Pure."""

from collections.abc import Sequence

import msgspec

from tenure.event import Event, EventKind
from tenure.rules.queue_pattern import matches

#: What happens to every message, where it is asked for: all else would drown in it.
_ROUTINE = frozenset({
    EventKind.COMPLETED, EventKind.RECEIVED, EventKind.HEARTBEAT_STARTED, EventKind.HEARTBEAT_EXTENDED,
    EventKind.HEARTBEAT_STATS, EventKind.PROCESSED, EventKind.DELETION, EventKind.WEBHOOK_DELIVERED,
})  # fmt: skip


def is_routine(event: Event) -> bool:
    """Whether it is about a message that completed, or a step of one that was followed in detail: nothing is wrong."""
    return event.kind is EventKind.COMPLETED or "sample_weight" in event.data


class EventChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen filters. All of them must match."""

    kinds: frozenset[str] = frozenset()
    #: Names and patterns, as the broker has them. None: every queue, and what is about none.
    queues: tuple[str, ...] | None = None
    task: str | None = None
    message: str | None = None
    #: The id of a worker, or its name.
    owner: str | None = None
    #: Wall time.
    since: float | None = None
    #: Also `completed`, and the steps of messages that were followed in detail: most of what happens.
    everything: bool = False

    @property
    def with_completed(self) -> bool:
        """Whether routine is shown: there is much of it, so only where it is asked for."""
        return self.everything or not _ROUTINE.isdisjoint(self.kinds) or self.message is not None

    def means(self, event: Event) -> bool:
        """Whether the filters let it pass. Routine is decided by `is_left_out`."""
        return (
            (not self.kinds or event.kind in self.kinds)
            and (self.queues is None or _is_of(event, self.queues))
            and (self.task is None or event.task == self.task)
            and (self.message is None or self.message in (event.message_id, *event.data.get("ids", ())))
            and (self.owner is None or _is_owner(self.owner, event.owner))
            and (self.since is None or event.at >= self.since)
        )

    def is_left_out(self, event: Event) -> bool:
        """Whether it passes the filters but is routine, which was not asked for."""
        return not self.with_completed and is_routine(event) and self.means(event)


def _is_of(event: Event, queues: Sequence[str]) -> bool:
    return event.queue is not None and matches(event.queue, queues)


def _is_owner(wanted: str, owner: str | None) -> bool:
    return owner is not None and (owner == wanted or owner.rpartition("/")[0] == wanted)
