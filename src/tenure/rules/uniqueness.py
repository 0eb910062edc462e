"""Uniqueness where the broker has no index of waiting messages: a row for each `unique` value, and its rules.

The row names the messages that were sent with the value and may still wait. A sender that finds none of them waiting
adds itself by compare-and-set, and sends. A sender must never get the id of a message that perhaps never arrived: so
it waits for one that is on its way, and ignores one that has been on its way for too long. Then two are stored, but
none is lost.

Pure; used by adapters whose truth is rows: the row and the calls are theirs.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tenure.message import Outgoing

#: How long a sender may take from its name in the row to its message in the queue.
PATIENCE_SECONDS = 10.0
#: Between two looks at one that is on its way.
PAUSE_SECONDS = 0.05
#: This many messages of one word are remembered; the oldest are forgotten first.
_MOST = 500


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that was sent with the value."""

    id: str
    sent_at: float
    #: When it was named, on the store's own time line.
    at: float
    expires_at: float | None = None
    #: It is known to be in its queue.
    is_put: bool = False


class UniqueStanding(StrEnum):
    """Where a message that was named is now."""

    WAITING = "waiting"
    #: Held or dead: it may wait again.
    OPEN = "open"
    OVER = "over"
    #: Nothing is known of it: it is on its way, or never came.
    UNSEEN = "unseen"


def standing(
    outgoing: Outgoing, sent_at: float, named: Sequence[Named], seats: Sequence[UniqueStanding], now: float
) -> Named | None:
    """Find the first that waits or is on its way: sent within the window, and not to expire before this one."""
    oldest = -math.inf if outgoing.unique_seconds is None else sent_at - outgoing.unique_seconds
    until = _end(outgoing.message.expires_at)
    for one, seat in zip(named, seats, strict=True):
        is_other = one.id == outgoing.message.id or one.sent_at < oldest or _end(one.expires_at) < until
        if is_other or seat not in (UniqueStanding.WAITING, UniqueStanding.UNSEEN):
            continue
        if (one.is_put and seat is UniqueStanding.WAITING) or is_coming(one, now):
            return one
    return None


def is_coming(one: Named, now: float) -> bool:
    """Whether its sender may still be at it."""
    return not one.is_put and now - one.at < PATIENCE_SECONDS


def with_this(
    outgoing: Outgoing, sent_at: float, named: Sequence[Named], seats: Sequence[UniqueStanding], now: float
) -> tuple[Named, ...]:
    """The row with this one in it, and without those that will never wait again."""
    message = outgoing.message
    kept = [
        one
        for one, seat in zip(named, seats, strict=True)
        if one.id != message.id
        and (
            seat in (UniqueStanding.WAITING, UniqueStanding.OPEN)
            or (seat is UniqueStanding.UNSEEN and is_coming(one, now))
        )
    ]
    return (*kept[-_MOST:], Named(message.id, sent_at, now, message.expires_at))


def _end(expires_at: float | None) -> float:
    return math.inf if expires_at is None else expires_at
