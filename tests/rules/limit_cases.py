"""The table of cases for limits: what may be leased of how many, and when the next one may.

`test_limits.py` runs the rule against it, `tests/adapters/redis/test_redis_limits.py` the Lua script.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A limit, what the queue has, and what is decided."""

    name: str
    count: int
    #: None: when a lease ends.
    wait_seconds: float | None = 0.0
    want: int = 10
    most_running: int | None = None
    per_second: float | None = None
    running: int = 0
    #: Tokens as they were last stored, and how many seconds ago. None: never.
    tokens: float | None = None
    seconds_ago: float = 0.0


CASES = (
    Case("no limit", 10),
    Case("nothing runs", 5, most_running=5),
    Case("some run", 2, most_running=5, running=3),
    Case("as many run as may", 0, None, most_running=5, running=5),
    Case("more run than may, as after lowering", 0, None, most_running=2, running=5),
    Case("less is wanted than may run", 1, most_running=5, running=3, want=1),
    Case("a new rate has a full bucket", 5, per_second=5.0),
    Case("a new slow rate has one token", 1, per_second=0.1),
    Case("a rate of a half has one token", 1, per_second=0.5),
    Case("no token left", 0, 10.0, per_second=0.1, tokens=0.0),
    Case("half a token left", 0, 5.0, per_second=0.1, tokens=0.0, seconds_ago=5.0),
    Case("a token came back", 1, per_second=0.1, tokens=0.0, seconds_ago=10.0),
    Case("tokens do not pile up", 1, per_second=0.1, tokens=0.0, seconds_ago=1000.0),
    Case("a bucket holds one second's worth", 5, per_second=5.0, tokens=0.0, seconds_ago=60.0),
    Case("returned tokens are cut to the bucket", 1, per_second=0.1, tokens=7.0),
    Case("a store that was put back gives no tokens for it", 0, 10.0, per_second=0.1, tokens=0.0, seconds_ago=-30.0),
    Case("tokens of a twentieth of a second are leased together", 0, 0.05, per_second=100.0, tokens=0.0),
    Case("less than that waits for the rest", 0, 0.02, per_second=100.0, tokens=3.0),
    Case("that many are leased", 5, per_second=100.0, tokens=5.0),
    Case("fewer if fewer are wanted", 2, per_second=100.0, tokens=2.0, want=2),
    Case("a high rate has a large bucket", 100, per_second=100.0, want=500),
    Case("both: running is reached", 0, None, most_running=1, running=1, per_second=5.0),
    Case("both: no token", 0, 10.0, most_running=5, running=1, per_second=0.1, tokens=0.0),
    Case("both: the smaller counts", 3, most_running=4, running=1, per_second=5.0),
)
