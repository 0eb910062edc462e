"""Under which queue samples of a task are kept: its own, or one name for all where queues are many.

How long a task takes hardly depends on the queue. With a thousand queues of clients each would have a few runs and
nothing would be learned, so a worker that serves a pattern, or more queues than `MANY`, keeps and reads samples under
one name for all queues of a namespace. Readers that find nothing under a queue look there. Pure.
"""

from collections.abc import Sequence

from tenure.rules.queue_pattern import WILDCARD, has_pattern

#: A worker that serves more queues shares its samples.
MANY = 16


def is_shared(served: Sequence[str]) -> bool:
    """Whether a worker that serves these queues keeps its samples under one name."""
    return len(served) > MANY or has_pattern(served)


def shared_queue(queue: str) -> str:
    """The name under which all queues of the namespace of `queue` share samples; for that name, the name itself."""
    namespace, slash, _ = queue.rpartition("/")
    return f"{namespace}{slash}{WILDCARD}"
