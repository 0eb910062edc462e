"""Served: which queues a worker asks for, by names and patterns, and which way they are looked for.

A few names are asked one by one, in one step. Patterns, and many names, are looked for on the list of queues that have
something (`listing.py`). Used by `lending.py` and `waiting.py`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of

#: This many names are asked whether they have something or not.
FEW = 8
#: The most queues whose match with a pattern is remembered.
_MOST_KEPT = 100_000


def is_few(queues: Sequence[str]) -> bool:
    """Whether each of these can be asked."""
    return len(queues) <= FEW and not has_pattern(queues)


class ServedQueues:
    """The queues of a request."""

    def __init__(self, queues: tuple[str, ...], excluded: tuple[str, ...]) -> None:
        """Names and patterns; without `excluded`."""
        out = frozenset(excluded)
        self._names = [queue for queue in queues if not is_pattern(queue) and queue not in out]
        self._patterns = [queue for queue in queues if is_pattern(queue)]
        self._excluded = excluded
        #: Whether queues are served: all names from the start, and what was asked about since.
        self._known = dict.fromkeys(self._names, True)

    def __contains__(self, queue: object) -> bool:
        """Whether one is served."""
        return isinstance(queue, str) and bool(self.of((queue,)))

    def of(self, queues: Iterable[str]) -> list[str]:
        """Return the queues that are served, in their order."""
        queues, known = list(queues), self._known
        new = [queue for queue in queues if queue not in known]
        if new:
            if len(known) >= len(self._names) + _MOST_KEPT:
                known.clear()
                known.update(dict.fromkeys(self._names, True))
                new = [queue for queue in queues if queue not in known]
            known.update(dict.fromkeys(new, False))
            known.update(dict.fromkeys(served_of(new, self._patterns, self._excluded), True))
        return [queue for queue in queues if known[queue]]

    def names(self) -> list[str]:
        """Return the queues that are served by their names."""
        return self._names


@lru_cache(maxsize=64)
def served(queues: tuple[str, ...], excluded: tuple[str, ...]) -> ServedQueues:
    """The same object for the same request, so that it is worked out once."""
    return ServedQueues(queues, excluded)
