"""Which events are meant. Pure."""

from collections.abc import Sequence

import msgspec

from tenure.event import Event, EventKind
from tenure.rules.queue_pattern import matches


class EventChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. Where several things are given, all of them must hold."""

    kinds: frozenset[str] = frozenset()
    #: Names and patterns, as the broker has them. None: every queue, and what is about none.
    queues: tuple[str, ...] | None = None
    task: str | None = None
    message: str | None = None
    #: The id of a worker, or its name.
    owner: str | None = None
    #: Wall time.
    since: float | None = None
    #: Also `completed`, which is most of what happens.
    everything: bool = False

    @property
    def with_completed(self) -> bool:
        """Whether completed messages are shown: they are many, so only where they are asked for."""
        return self.everything or EventKind.COMPLETED in self.kinds or self.message is not None

    def means(self, event: Event) -> bool:
        """Whether the filters let it pass; `completed` is another matter."""
        return (
            (not self.kinds or event.kind in self.kinds)
            and (self.queues is None or _is_of(event, self.queues))
            and (self.task is None or event.task == self.task)
            and (self.message is None or self.message in (event.message_id, *event.data.get("ids", ())))
            and (self.owner is None or _is_owner(self.owner, event.owner))
            and (self.since is None or event.at >= self.since)
        )

    def is_left_out(self, event: Event) -> bool:
        """Whether it passes the filters and is a completed message that nobody asked for."""
        return not self.with_completed and event.kind is EventKind.COMPLETED and self.means(event)


def _is_of(event: Event, queues: Sequence[str]) -> bool:
    return event.queue is not None and matches(event.queue, queues)


def _is_owner(wanted: str, owner: str | None) -> bool:
    return owner is not None and (owner == wanted or owner.rpartition("/")[0] == wanted)
