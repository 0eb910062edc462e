"""Limits: how many messages of a limited queue may be leased now, and when the next one may.

`running` is compared with the number of leases that the queue has at this moment, so there is no counter that could
drift. `per_second` is a token bucket: each lease takes a token, a give-back returns it, a retry takes another one. It
holds one second's worth of tokens, at least one, and is full at first. At high rates a lease waits for up to
`GATHER_SECONDS` until several tokens are there: one lease call for each token would cost more than the work.

Memory, SQLite and the share that a worker has of a cloud queue (`client/limit_share.py`) call these functions;
`adapters/redis/lua/limits.lua` decides the same inside Redis, and is run against the same table of cases.
"""

import math
from typing import NamedTuple

import msgspec

from tenure.limit import Limit

#: Tokens of so many seconds are leased together.
GATHER_SECONDS = 0.05
#: What those who wait ask for: a lease that wants fewer gets them when this many are allowed, too.
ANY_NUMBER = 1_000_000
#: A moment is computed with so small an error: a token that lacks less than this is there.
_NEARLY = 1e-6
#: A worker that waits for a running message of its queue to end looks again this often. The end of one wakes it
#: sooner, unless the process that ended it does not know of the limit.
LOOK_AGAIN_SECONDS = 1.0


class Bucket(NamedTuple):
    """The tokens that a queue had at a moment, in seconds of the store's clock."""

    tokens: float
    at: float


class Allowance(msgspec.Struct, frozen=True):
    """How many messages of a queue may be leased now."""

    count: int
    #: Seconds until one more may be. 0: now. None: when one of those that run ends.
    wait_seconds: float | None = 0.0


def tokens(limit: Limit, bucket: Bucket | None, now: float) -> float:
    """The tokens that there are now. `bucket`: as it was last stored; None: the queue had no limit until now."""
    if limit.per_second is None or bucket is None:
        return limit.burst
    return min(limit.burst, bucket.tokens + max(0.0, now - bucket.at) * limit.per_second)


def allowance(limit: Limit, *, running: int, bucket: Bucket | None, now: float, want: int) -> Allowance:
    """Decide how many of `want` messages may be leased, while `running` of the queue are."""
    most = want
    if limit.running is not None:
        most = min(want, limit.running - running)
        if most <= 0:
            return Allowance(0, None)
    if limit.per_second is None:
        return Allowance(most)
    there = tokens(limit, bucket, now)
    needed = min(most, max(1, math.floor(limit.per_second * GATHER_SECONDS)))
    if there + _NEARLY < needed:
        return Allowance(0, (needed - there) / limit.per_second)
    return Allowance(min(most, math.floor(there + _NEARLY)))


def taken(limit: Limit, bucket: Bucket | None, now: float, count: int) -> Bucket:
    """The bucket after `count` messages were leased. For a limit with a rate."""
    return Bucket(tokens(limit, bucket, now) - count, now)


def given_back(bucket: Bucket, count: int) -> Bucket:
    """The bucket after `count` messages were given back. More than it holds is cut when it is next read."""
    return Bucket(bucket.tokens + count, bucket.at)


def share(limit: Limit, place: int, workers: int) -> Limit:
    """The part of a limit for worker number `place` (from 0) of `workers`. Together they have the whole."""
    if workers < 2:  # noqa: PLR2004 - one worker has all of it
        return limit
    running = None if limit.running is None else limit.running // workers + (place < limit.running % workers)
    return Limit(running, None if limit.per_second is None else limit.per_second / workers)
