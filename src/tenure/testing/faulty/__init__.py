"""Faulty on purpose: brokers and states with one fault each, around any that works.

The suites of `tenure.testing.conformance` are worth what they catch, so they are tested against these: each
fault must make at least one test fail. The faults are those that queues really have (forgets to hide,
revives what was acked, acks for anyone, counts give-backs, steals back by touch …). They are good for
testing a worker or a monitor of your own, too: `Fault(ForgetsToHide)` for a harness, or
`ForgetsToHide(broker, clock)` directly.
"""

import re
from dataclasses import dataclass
from typing import Any

from tenure.broker import Broker
from tenure.state import State
from tenure.testing.faulty import (
    announcing,
    board,
    cancelling,
    counting,
    dead_letters,
    erasing,
    filtering,
    grouping,
    held_leases,
    hints,
    key_values,
    ledger,
    lending,
    limits,
    named_leases,
    paging,
    patterns,
    posts,
    promoting,
    queues,
    quotas,
    refusing,
    returning,
    sending,
    settling,
    sharing,
    state,
    touching,
    uniqueness,
    wall,
)
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import (
    HonestActLog,
    HonestBoard,
    HonestJournal,
    HonestKeyValues,
    HonestLedger,
    HonestRecords,
    HonestRoster,
    HonestState,
    HonestWall,
)
from tenure.testing.virtual import VirtualClock

Part = (
    HonestBroker
    | HonestLedger
    | HonestRecords
    | HonestRoster
    | HonestJournal
    | HonestBoard
    | HonestActLog
    | HonestKeyValues
    | HonestWall
)


@dataclass(frozen=True)
class Fault:
    """One fault, to be put into a harness."""

    kind: type[Part]

    @property
    def name(self) -> str:
        """The fault in words."""
        return re.sub(r"(?<!^)(?=[A-Z])", " ", self.kind.__name__).lower()

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The suites that are expected to catch it."""
        return self.kind.caught_by

    def broker(self, inner: Broker, clock: VirtualClock) -> Broker:
        """The broker, with the fault if it is the broker's."""
        return self.kind(inner, clock) if issubclass(self.kind, HonestBroker) else inner

    def state(self, inner: State, clock: VirtualClock) -> State:
        """The state, with the fault if it is one of its ports'."""
        return inner if issubclass(self.kind, HonestBroker) else HonestState(inner, self.kind(inner, clock))


def _faults(*modules: Any) -> tuple[Fault, ...]:
    """Every class in `modules` that says who should catch it."""
    kinds = (value for module in modules for value in vars(module).values())
    return tuple(Fault(kind) for kind in kinds if isinstance(kind, type) and kind.__dict__.get("caught_by"))


#: All of them, by theme.
FAULTS: tuple[Fault, ...] = _faults(
    sending,
    uniqueness,
    lending,
    touching,
    settling,
    returning,
    dead_letters,
    refusing,
    cancelling,
    paging,
    filtering,
    grouping,
    held_leases,
    named_leases,
    hints,
    limits,
    patterns,
    queues,
    quotas,
    ledger,
    state,
    board,
    posts,
    promoting,
    announcing,
    key_values,
    wall,
    sharing,
    counting,
    erasing,
)

__all__ = ["FAULTS", "Fault", "HonestBroker", "HonestState"]
