"""Event rights: the part of the journal that a viewer may see. Pure.

Which events they asked for is an `EventChoice`. Two viewers with the same choice and the same rights share what is
encoded for them (`feed.py`).
"""

import msgspec

from tenure.event import Event
from tenure.rules.queue_pattern import matches


class EventRights(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the journal that a viewer may see."""

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
