"""Limiting: how many messages of a limited queue may be leased now, by `rules/limits.py`.

Called by `lending.py`, `waiting.py` and `settling.py`, inside a step.
"""

import math

from tenure.adapters.memory.store import MemoryDatabase
from tenure.lease import LeaseRequest
from tenure.limit import Limit
from tenure.message import MessageState
from tenure.rules.limits import ANY_NUMBER, Allowance, allowance, given_back, taken


def allowed(store: MemoryDatabase, queue: str, request: LeaseRequest, want: int, now: float) -> int:
    """How many of `want` messages the limit of a queue allows now; all of them if it has none."""
    limit = request.limits.get(queue)
    if limit is None:
        return want
    if limit.running is not None:
        store.limited.watched.add(queue)
    return _allowance(store, queue, limit, want, now).count


def take(store: MemoryDatabase, queue: str, request: LeaseRequest, now: float) -> None:
    """A message of the queue was leased: take a token."""
    limit = request.limits.get(queue)
    if limit is not None and limit.per_second is not None:
        store.limited.buckets[queue] = taken(limit, store.limited.buckets.get(queue), now, 1)


def give_back(store: MemoryDatabase, queue: str) -> None:
    """A message of the queue was given back: return its token."""
    bucket = store.limited.buckets.get(queue)
    if bucket is not None:
        store.limited.buckets[queue] = given_back(bucket, 1)


def open_in(store: MemoryDatabase, queue: str, limit: Limit, now: float) -> float:
    """Seconds until the limit allows a lease. Infinite: one must end first, which wakes those who wait."""
    if limit.running is not None:
        store.limited.watched.add(queue)
    wait = _allowance(store, queue, limit, ANY_NUMBER, now).wait_seconds
    return math.inf if wait is None else wait


def _allowance(store: MemoryDatabase, queue: str, limit: Limit, want: int, now: float) -> Allowance:
    running = len(store.line(queue).by_state[MessageState.LEASED])
    return allowance(limit, running=running, bucket=store.limited.buckets.get(queue), now=now, want=want)
