"""Queues: which there are, and how one that is empty is forgotten.

A queue is on the list from the moment in which a message enters it. What was completed or cancelled there stays when
the queue is forgotten, so that it is still recognised.
"""

from tenure.adapters.memory.store import MemoryDatabase

#: A sweep forgets a queue that was empty for this many seconds.
KEPT_SECONDS = 3_600.0


def queues(store: MemoryDatabase) -> list[str]:
    """The queues there are, sorted."""
    return sorted(queue for queue, line in store.lines.items() if line.is_listed)


def forget(store: MemoryDatabase, queue: str) -> bool:
    """Take a queue off the list if nothing is in it."""
    line = store.lines.get(queue)
    if line is None:
        return True
    if not line.is_empty():
        return False
    line.is_listed = False
    store.tidy_line(queue)
    return True


def forget_empty(store: MemoryDatabase, now: float) -> None:
    """Take those off the list that were empty for an hour."""
    for queue, since in list(store.empty_since.items()):
        if now - since >= KEPT_SECONDS:
            forget(store, queue)
