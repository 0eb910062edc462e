"""Acts on many messages: bounded, at a rate, and reported as found / done / skipped.

An act is bounded (`MOST_AT_ONCE`, or the caller's limit) and says whether there is more. There is nothing to resume:
after an interruption, repeat the same call: what was done is not found again. Cancelling the coroutine ends it
after the batch that is under way, which is recorded.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from tenure.client.operations.access import Access
from tenure.client.redrive import in_turn
from tenure.errors import BadArgument

#: One call acts on this many messages unless it says otherwise.
MOST_AT_ONCE = 10_000

#: Called after each batch: how many messages were dealt with, and how many were found.
Progressed = Callable[[int, int], None]


class BulkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an act on many messages."""

    #: Messages that were meant.
    found: int
    #: Messages that were changed; of a dry run none.
    done: int
    #: They had moved on when it came to them, and were left alone.
    skipped: int
    dry_run: bool = False
    #: There are more than one call deals with; the same call goes on.
    more: bool = False
    #: Those that were changed; of a dry run those that were found.
    ids: tuple[str, ...] = ()
    #: How many were found of each task and reason, such as "resize (max_attempts)", or of each state.
    kinds: dict[str, int] = {}


def check_bounds(*, rate: float | None = None, limit: int = MOST_AT_ONCE) -> None:
    """Raise `BadArgument` for a rate or a limit that is not above 0."""
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        msg = f"rate={rate!r} is not a number of messages a second above 0; nothing was changed"
        raise BadArgument(msg)
    if limit < 1:
        msg = f"limit={limit!r} is not at least 1; nothing was changed"
        raise BadArgument(msg)


def bulk_result(
    found: Mapping[str, str],
    done: Sequence[str],
    kinds: Mapping[str, int],
    *,
    dry_run: bool = False,
    more: bool = False,
) -> BulkResult:
    """Sum up the result of an act on these messages."""
    return BulkResult(
        found=len(found),
        done=len(done),
        skipped=0 if dry_run else len(found) - len(done),
        dry_run=dry_run,
        more=more,
        ids=tuple(found if dry_run else done),
        kinds=dict(kinds),
    )


async def carry_out(
    access: Access,
    queue_of: Mapping[str, str],
    act: Callable[[Sequence[str], str], Awaitable[list[str]]],
    *,
    rate: float | None = None,
    progressed: Progressed | None = None,
) -> list[str]:
    """Act on messages, each with its queue, in batches of one queue, at most `rate` a second; those that were changed.

    Cancelled in the middle, the batch under way is carried out and recorded, and no other one begins.
    """
    ids, done, dealt_with = list(queue_of), list[str](), 0
    limit = access.broker.traits.batch_limit
    async for some in in_turn(ids, access.clock, asyncio.sleep, batch_limit=limit, per_second=rate):
        for queue in dict.fromkeys(queue_of[id] for id in some):
            done += await act([id for id in some if queue_of[id] == queue], queue)
        dealt_with += len(some)
        if progressed is not None:
            progressed(dealt_with, len(ids))
    return done
