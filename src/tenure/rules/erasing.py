"""What is left of an event when what is kept of its queue is erased: that something happened, and when. Pure.

The event keeps its place, so that readers go on as ever, and so does everything that is counted by places.
"""

from tenure.event import Event


def must_be_erased(event: Event, queue: str) -> bool:
    """Whether an event says something of a queue."""
    return event.queue == queue


def erased(event: Event) -> Event:
    """The event without anything that names a message, a queue, a task or a worker, and without its data."""
    return Event(event.kind, event.at)
