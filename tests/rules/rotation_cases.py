"""The table of cases for the order of priorities.

`test_rotation.py` runs the rule, memory and SQLite against it, `tests/adapters/redis/test_redis_rotation.py` the Lua
script.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """What waits in one queue, and what each call must be lent of it."""

    name: str
    #: The priority of each message, in the order in which they were sent.
    waiting: str
    #: The priorities of what each call is lent, the order inside a call left open.
    calls: tuple[str, ...]


CASES = (
    Case("one priority has no turns", "5" * 12, ("5" * 10, "5" * 2)),
    Case("fewer than ten are all of the highest", "1" * 5 + "9" * 20, ("9" * 9,)),
    Case("the tenth is a lower one", "1" * 5 + "9" * 20, ("9" * 9 + "1",)),
    Case("two tenths in one call", "1" * 5 + "9" * 30, ("9" * 18 + "11",)),
    Case("the count runs over calls", "1" * 5 + "9" * 30, ("9" * 6, "9" * 5 + "1", "9" * 7, "91")),
    Case("one at a time", "1" + "9" * 12, (*"999999999", "1", *"99")),
    Case("of all lower ones the oldest", "5" + "1" + "9" * 30, ("9" * 9 + "5", "9" * 9 + "1")),
    Case("the lowest is not starved by the middle", "1" + "5" * 5 + "9" * 30, ("9" * 9 + "1", "9" * 9 + "5")),
    Case("what the highest leaves goes to the next", "9" * 3 + "5" * 10 + "1", ("999" + "5" * 6 + "1",)),
    Case("less waits than is asked for", "9" * 4 + "1" * 2, ("9999" + "11",)),
    Case("of the lower ones alone the highest is the first", "1" * 3 + "5" * 20, ("5" * 9 + "1", "5" * 9 + "1")),
)
