"""The table of cases for a lapsed lease.

`test_lapse.py` runs the rule against it, `tests/adapters/redis/test_redis_lapse.py` the Lua script.
"""

from dataclasses import dataclass

from tenure.message import Counters
from tenure.record import Ending
from tenure.rules.lapse import Lapse
from tenure.verdict import Reason

AT = 1_700_000_000.0
OWNER = "client/00000001"
LOST = Lapse(lost=1, endings=(Ending(AT, "lost", OWNER),))

_LAPSED = Reason("lease_lapsed", "client/00000001 let the lease end without settling the message")
_FAILED = Ending(AT, "failed", OWNER, _LAPSED)
_BACK = Lapse(attempts=1, endings=(_FAILED,), reason=_LAPSED)


@dataclass(frozen=True)
class Case:
    """One lapse: what was known before it, and what must come of it."""

    name: str
    counters: Counters
    expected: Lapse
    has_presence: bool = False
    max_attempts: int = 3
    #: False: the store no longer knows who held it.
    knows_owner: bool = True
    was_touched: bool = False
    owner: str = OWNER


def _dead(code: str, text: str) -> Lapse:
    reason = Reason(code, text)
    return Lapse(attempts=1, endings=(_FAILED, Ending(AT, "dead", OWNER, reason)), reason=reason, is_dead=True)


def _used(attempts: int, limit: int) -> Lapse:
    return _dead("max_attempts", f"{attempts} of {limit} attempts are used; the last holder let its lease end")


def _too_often(lost: int) -> Lapse:
    text = f"its lease ended unseen {lost} times; look for workers that freeze, run out of memory or lose the network"
    return _dead("max_lost", text)


_OVER_HTTP = "http:a1b2c3d4e5f6/shop-1"
_HTTP_LAPSED = Reason("lease_lapsed", "http:a1b2c3d4e5f6/shop-1 let the lease end without settling the message")
_HTTP_LOST = Lapse(lost=1, endings=(Ending(AT, "lost", _OVER_HTTP),))
_HTTP_BACK = Lapse(attempts=1, endings=(Ending(AT, "failed", _OVER_HTTP, _HTTP_LAPSED),), reason=_HTTP_LAPSED)

_NOBODY = Reason("lease_lapsed", "its holder let the lease end without settling the message")

CASES = (
    Case("a worker's first loss", Counters(1), LOST, has_presence=True),
    Case("a worker loses what failed before", Counters(3, 2), LOST, has_presence=True),
    Case("a worker's loss uses no attempt, however many are used", Counters(9, 9), LOST, has_presence=True),
    Case("a worker's loss beside crashes", Counters(4, 0, 2, 1), LOST, has_presence=True),
    Case("a worker's tenth loss", Counters(10, 0, 0, 9), LOST, has_presence=True),
    Case("a worker's loss goes back at any count: admission decides", Counters(40, 0, 0, 40), LOST, has_presence=True),
    Case("a first attempt", Counters(1), _BACK),
    Case("the last but one", Counters(2, 1), _BACK),
    Case("the last attempt", Counters(3, 2), _used(3, 3)),
    Case("one attempt is all it has", Counters(1), _used(1, 1), max_attempts=1),
    Case("many attempts are allowed", Counters(7, 6), _BACK, max_attempts=8),
    Case("the limit was lowered meanwhile", Counters(7, 6), _used(7, 3)),
    Case("crashes use no attempt", Counters(6, 1, 5), _BACK),
    Case("lost nine times before", Counters(10, 0, 0, 9), _BACK),
    Case("lost ten times before", Counters(11, 0, 0, 10), _too_often(10)),
    Case("both limits at once: attempts are named", Counters(13, 2, 0, 10), _used(3, 3)),
    Case("over HTTP, never touched", Counters(1), _HTTP_LOST, owner=_OVER_HTTP),
    Case("over HTTP, never touched, and all attempts used", Counters(3, 3), _HTTP_LOST, owner=_OVER_HTTP),
    Case("over HTTP, touched", Counters(1), _HTTP_BACK, owner=_OVER_HTTP, was_touched=True),
    Case("a loop of one's own, touched", Counters(1), _BACK, was_touched=True),
    Case(
        "nobody knows who held it",
        Counters(1),
        Lapse(attempts=1, endings=(Ending(AT, "failed", None, _NOBODY),), reason=_NOBODY),
        knows_owner=False,
    ),
)
