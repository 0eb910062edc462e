"""Acts on many messages: bounded, at a rate, and told as found / done / skipped.

An act is bounded (`MOST_AT_ONCE`, or the caller's limit) and says whether there is more. There is nothing to resume:
whoever was interrupted repeats the same call, and what was done is not found again. Cancelling the coroutine ends it
after the batch that is under way, which is recorded.
"""

from collections.abc import Callable

import msgspec

#: One call acts on so many messages unless it says otherwise.
MOST_AT_ONCE = 10_000

#: Called after each batch: how many messages were dealt with, and how many were found.
Progressed = Callable[[int, int], None]


class BulkResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an act on many messages came to."""

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
