"""Rotation: the order in which priorities and queues are served, so that none waits for ever.

The highest priority goes first. But by the running count of messages leased from a queue, every tenth is the oldest one
of all lower priorities than the highest that waits. With several queues each call begins with another one.

Memory and SQLite call these functions; `adapters/redis/lua/lease.lua` counts the same inside Redis, and is run
against the same table of cases. On SQS and Azure the queues decide what they give, and only which of them is asked
can be chosen.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

#: One message in this many is taken from a lower priority.
FAIRNESS = 10


def next_source(
    waiting: Sequence[T], number: int, fairness: int | None = FAIRNESS, *, arrival: Callable[[T], Any] = lambda one: one
) -> T:
    """Choose the priority that gives message number `number` (from 1) of its queue.

    `waiting` has one for each priority, the highest first; `arrival` tells when the oldest message of one came.
    """
    if fairness and number % fairness == 0 and len(waiting) > 1:
        return min(waiting[1:], key=arrival)
    return waiting[0]


def lower_turns(lent: int, want: int, fairness: int = FAIRNESS) -> int:
    """Count the turns of lower priorities among the next `want` messages, after `lent` of the queue were leased."""
    return (lent + want) // fairness - lent // fairness


def rotated(queues: Sequence[T], turn: int) -> Sequence[T]:
    """Rotate the queues: each turn begins with the next one."""
    if len(queues) < 2:  # noqa: PLR2004 - one queue has no turns
        return queues
    start = turn % len(queues)
    return (*queues[start:], *queues[:start])
