"""How a lapsed lease is counted, and when a message must run alone or is given up.

A lease lapses when its deadline passes before the message is settled. A sweep then returns the message. What that
counts depends on the holder. A worker with presence joined the roster before it leased: its lapse is a loss, because
it is not known how the run ended. A holder without presence (an HTTP client, a loop of the user's own) has used an
attempt. Only a lease over HTTP that was never touched is a loss too: a proxy may have cut the reply, so perhaps no
client ever learned of it.

Every store calls `lapse` here; `adapters/redis/lua/sweep.lua` decides the same inside Redis, is given the texts below
as arguments, and is run against the same table of cases. Asked by `runtime/path/admission.py` and
`runtime/delivery.py`, too.
"""

import msgspec

from tenure.message import Counters
from tenure.record import Ending
from tenure.verdict import Reason

#: Owners that died while they held the message, before it must run alone.
CRASHES_BEFORE_ALONE = 2
#: Losses before it must run alone. An out-of-memory kill in a container ends everything at once and looks like a loss.
LOSSES_BEFORE_ALONE = 3
#: Losses while it ran alone, before it is put aside.
MAX_LOST = 10

#: How the owner of every lease over HTTP begins: `http:{token id}/{consumer}`.
REMOTE_OWNER = "http:"

#: The texts of the reasons. Lua fills in the same ones.
LAPSED_TEXT = "{owner} let the lease end without settling the message"
MAX_ATTEMPTS_TEXT = "{attempts} of {limit} attempts are used; the last holder let its lease end"
MAX_LOST_TEXT = (
    "its lease ended unseen {lost} times; look for workers that freeze, run out of memory or lose the network"
)
#: The owner in `LAPSED_TEXT`, where the store no longer knows it.
UNKNOWN_OWNER = "its holder"


class Lapse(msgspec.Struct, frozen=True):
    """The outcome of a lapse: where the message goes, and what is counted."""

    #: Added to the counters.
    attempts: int = 0
    lost: int = 0
    #: What is added to its history, oldest first.
    endings: tuple[Ending, ...] = ()
    #: The message's reason from now on. None: it keeps the one it had.
    reason: Reason | None = None
    #: True: to the dead letters. False: back to its queue.
    is_dead: bool = False


def lapse(
    counters: Counters, *, owner: str | None, has_presence: bool, was_touched: bool, max_attempts: int, at: float
) -> Lapse:
    """Count one lapsed lease. `counters` are from before it, `at` is wall time."""
    if has_presence or (not was_touched and owner is not None and owner.startswith(REMOTE_OWNER)):
        # Whether it was lost too often is decided at its next lease: the ledger is asked first, it may be done.
        return Lapse(lost=1, endings=(Ending(at, "lost", owner),))
    attempts = counters.attempts + 1
    lapsed = Reason("lease_lapsed", LAPSED_TEXT.format(owner=owner or UNKNOWN_OWNER))
    failed = Ending(at, "failed", owner, lapsed)
    if attempts >= max_attempts:
        reason = Reason("max_attempts", MAX_ATTEMPTS_TEXT.format(attempts=attempts, limit=max_attempts))
    elif is_lost_too_often(counters, has_presence=False):
        reason = max_lost(counters)
    else:
        return Lapse(attempts=1, endings=(failed,), reason=lapsed)
    return Lapse(attempts=1, endings=(failed, Ending(at, "dead", owner, reason)), reason=reason, is_dead=True)


def must_run_alone(counters: Counters) -> bool:
    """Whether a worker must run it in a process of its own, so that a crash hurts and blames no other message."""
    return counters.crashes >= CRASHES_BEFORE_ALONE or counters.lost >= LOSSES_BEFORE_ALONE


def is_lost_too_often(counters: Counters, *, has_presence: bool) -> bool:
    """Whether the message must be put aside.

    A worker with presence has lost it at most `LOSSES_BEFORE_ALONE` times before it ran alone: every further loss was
    one alone, so no store needs a counter for them. A holder without presence cannot run it alone: all losses count.
    """
    beside_others = LOSSES_BEFORE_ALONE if has_presence else 0
    return counters.lost - beside_others >= MAX_LOST


def max_lost(counters: Counters) -> Reason:
    """Why a message that was lost too often is dead."""
    return Reason("max_lost", MAX_LOST_TEXT.format(lost=counters.lost))
