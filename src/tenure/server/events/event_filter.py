"""Which events a viewer asked for, and which queues exist for them. Pure.

Two viewers with equal filters share what is encoded for them (`feed.py`).
"""

import msgspec

from tenure.event import Event, EventKind
from tenure.rules.queue_pattern import matches


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. Where several things are given, all of them must hold."""

    kinds: frozenset[str] = frozenset()
    #: Names and patterns, as the broker has them. None: every queue, and what is about none.
    queues: tuple[str, ...] | None = None
    task: str | None = None
    message: str | None = None
    #: The id of a worker, or its name.
    owner: str | None = None
    #: Also `completed`, which is most of what happens.
    completed: bool = False

    @property
    def with_completed(self) -> bool:
        """Whether completed messages are shown: they are many, so only where they are asked for."""
        return self.completed or EventKind.COMPLETED in self.kinds or self.message is not None

    @property
    def limits_completed(self) -> bool:
        """Whether completed messages are many: those of one message are not."""
        return self.message is None

    def means(self, event: Event) -> bool:
        """Whether the filter lets it pass."""
        return (
            (event.kind is not EventKind.COMPLETED or self.with_completed)
            and (not self.kinds or event.kind in self.kinds or (self.completed and event.kind is EventKind.COMPLETED))
            and (self.queues is None or (event.queue is not None and matches(event.queue, self.queues)))
            and (self.task is None or event.task == self.task)
            and (self.message is None or self.message in (event.message_id, *event.data.get("ids", ())))
            and (self.owner is None or _is_owner(self.owner, event.owner))
        )


class EventRights(msgspec.Struct, frozen=True, kw_only=True):
    """What of the journal exists for a viewer."""

    #: Every queue begins with it: the app's namespace and a slash. Empty: the app has none.
    prefix: str = ""
    #: Names and patterns, as the broker has them. None: every queue, and what is about none.
    queues: tuple[str, ...] | None = None
    #: Whether payloads and what errors said are shown.
    sees_payload: bool = False

    def sees(self, event: Event) -> bool:
        """Whether the event exists for the viewer."""
        queue = event.queue
        if queue is None:
            return self.queues is None
        return queue.startswith(self.prefix) and (self.queues is None or matches(queue, self.queues))


def _is_owner(wanted: str, owner: str | None) -> bool:
    return owner is not None and (owner == wanted or owner.rpartition("/")[0] == wanted)
