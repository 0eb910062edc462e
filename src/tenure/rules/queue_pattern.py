"""Queue patterns: the queues a worker serves, by names and patterns in which `*` matches any characters.

Every store asks the same question, so `acme-tasks` is served by `*-tasks` everywhere. A `*` is never part of a queue's
name. Pure.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

WILDCARD = "*"


def is_pattern(queue: str) -> bool:
    """Whether it names queues by a pattern."""
    return WILDCARD in queue


def has_pattern(queues: Iterable[str]) -> bool:
    """Whether the set of queues that these match may change."""
    return any(WILDCARD in queue for queue in queues)


def matches(queue: str, served: Sequence[str], excluded: Collection[str] = ()) -> bool:
    """Whether `queue` is one of `served` (names and patterns) and not one of `excluded` (names)."""
    return queue not in excluded and (queue in served or any(_matches(one, queue) for one in served if WILDCARD in one))


def served_of(queues: Iterable[str], served: Sequence[str], excluded: Collection[str] = ()) -> list[str]:
    """Return those of `queues` that are served, in their order."""
    names, out = frozenset(one for one in served if WILDCARD not in one), frozenset(excluded)
    patterns = [one for one in served if WILDCARD in one]
    return [
        queue
        for queue in queues
        if queue not in out and (queue in names or any(_matches(one, queue) for one in patterns))
    ]


def _matches(pattern: str, queue: str) -> bool:
    return _compiled(pattern).fullmatch(queue) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(WILDCARD))), re.DOTALL)
