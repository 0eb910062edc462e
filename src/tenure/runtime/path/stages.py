"""The path as each stage sees it: what it calls on the next stage. No stage knows the one before it.

    intake → admission → holding → handling → outbox → reporting
                 │          │                   ↑
                 └──────────┴─ what may not run ┘

A message passes each stage at most once. `runtime/pipeline.py` puts them together.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from tenure.lease import Lease
from tenure.runtime.delivery import Delivery
from tenure.settlement import Settlement
from tenure.verdict import Verdict


class AdmissionStage(Protocol):
    """What intake calls on admission."""

    async def admit(self, leases: Sequence[Lease]) -> None:
        """Decide for each message of a batch whether it runs."""
        ...


class HoldingStage(Protocol):
    """What admission calls on holding."""

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Keep their leases, and run each as soon as its task's limit allows."""
        ...

    def is_running(self, id: str) -> bool:
        """Whether an earlier delivery of that message has not ended here, or waits."""
        ...


class HandlingStage(Protocol):
    """What holding calls on handling."""

    @property
    def running_ids(self) -> Collection[str]:
        """Messages whose code has not ended."""
        ...

    def start(self, deliveries: Sequence[Delivery]) -> None:
        """Start the handler of each."""
        ...

    def start_soon(self, delivery: Delivery) -> None:
        """Start the handler of one, from the loop's next turn on."""
        ...

    def end(self, delivery: Delivery, verdict: Verdict) -> None:
        """End a run from outside."""
        ...


class OutboxStage(Protocol):
    """What admission, holding and handling call on the outbox."""

    def put(self, delivery: Delivery, verdict: Verdict) -> None:
        """Settle this with the next batch."""
        ...


class ReportingStage(Protocol):
    """What the outbox calls on reporting."""

    def report(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        """Report deliveries that have left the path. None: nothing was settled."""
        ...
