"""The reserved queue: where deliveries of webhooks lie, beside the queues of users. Pure.

It is a queue like any other, but no task and no message of a user may use it, no pattern of a worker matches it, and it
counts in no total: what waits there is no work of users. Each namespace has one.
"""

from collections.abc import Iterable

from tenure.rules.queue_pattern import WILDCARD, matches

RESERVED_QUEUE = "webhooks"


def reserved_queue(namespace: str | None) -> str:
    """The reserved queue of a namespace."""
    return RESERVED_QUEUE if namespace is None else f"{namespace}/{RESERVED_QUEUE}"


def is_reserved(queue: str) -> bool:
    """Whether that is the reserved queue of a namespace, or of none."""
    return queue.rpartition("/")[2] == RESERVED_QUEUE


def reserved_of(queues: Iterable[str]) -> tuple[str, ...]:
    """The reserved queues that patterns among these would match."""
    found = {
        name
        for pattern in queues
        if WILDCARD in pattern
        for name in (reserved_queue(pattern.rpartition("/")[0] or None), RESERVED_QUEUE)
        if matches(name, (pattern,))
    }
    return tuple(sorted(found))
