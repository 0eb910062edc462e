"""The conformance suites: what every broker and every state must keep, adapters of third parties included.

    broker/   thirty-six themes, from sending to crashing
    state/    ledger, records, roster, journal (readers, samples, tallies), board (posts, turns), acts, key-values,
              wall time
    worker/   the second tier: the real worker over the broker (`worker.WORKER_SUITES`)
    contract  every line of the contract, with the tests for it

Bring a `Harness` (`tenure.testing.harness`) and run them under pytest, in one line of a test module:

    @pytest.fixture
    def harness() -> MyHarness:
        return MyHarness()

    globals().update(pytest_classes(ALL_SUITES))

or without it: `run_suites(ALL_SUITES, MyHarness)` returns what failed. Tests ask the broker's traits, never
its name; what does not apply is skipped with its reason. That the suites bite is tested too, against the
deliberately faulty brokers of `tenure.testing.faulty`.
"""

from tenure.testing.conformance.broker import (
    Announcing,
    Browsing,
    Cancelling,
    Clocks,
    Crashing,
    DeadLetters,
    Delays,
    Durability,
    Erasing,
    Fencing,
    Filtering,
    Grace,
    Grouping,
    HeldLeases,
    Hints,
    Keys,
    Lapsing,
    Lending,
    Limits,
    NamedLeases,
    Paging,
    Patterns,
    Priority,
    Promoting,
    Queues,
    Quotas,
    Refusing,
    Retiring,
    Returning,
    Sendable,
    Sending,
    Settling,
    Touching,
    TouchingElsewhere,
    Uniqueness,
    Waiting,
)
from tenure.testing.conformance.runner import Failure, Suite, list_tests, pytest_classes, run_suites
from tenure.testing.conformance.state import (
    Acts,
    Board,
    Following,
    Journal,
    KeyValues,
    Ledger,
    Posts,
    Records,
    Roster,
    Samples,
    Tallies,
    Turns,
    WallTime,
)

#: In the order in which a message lives: a new adapter makes them pass from the top.
BROKER_SUITES: tuple[Suite, ...] = (
    Sending,
    Sendable,
    Lending,
    Priority,
    Delays,
    Settling,
    Touching,
    TouchingElsewhere,
    Erasing,
    Fencing,
    Returning,
    Lapsing,
    Grace,
    Retiring,
    DeadLetters,
    Refusing,
    Cancelling,
    Browsing,
    Paging,
    Filtering,
    HeldLeases,
    NamedLeases,
    Hints,
    Waiting,
    Limits,
    Patterns,
    Promoting,
    Queues,
    Quotas,
    Keys,
    Uniqueness,
    Announcing,
    Grouping,
    Clocks,
    Crashing,
    Durability,
)

STATE_SUITES: tuple[Suite, ...] = (
    Records,
    Ledger,
    Roster,
    Journal,
    Following,
    Samples,
    Tallies,
    Board,
    Posts,
    Turns,
    Acts,
    KeyValues,
    WallTime,
)

ALL_SUITES: tuple[Suite, ...] = BROKER_SUITES + STATE_SUITES

__all__ = [
    "ALL_SUITES",
    "BROKER_SUITES",
    "STATE_SUITES",
    "Failure",
    "Suite",
    "list_tests",
    "pytest_classes",
    "run_suites",
]
