"""Reporting: the last stage of the path.

It passes the outcomes of a batch to statistics, learning, the log and the journal.

One compact event a message (`events.py`), and a log record for each abnormal one (`log_lines.py`).
"""

from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.rules.fair_turns import FairTurns
from tenure.runtime.background.facts import Facts
from tenure.runtime.background.sampler import Sampler
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.path import events, log_lines
from tenure.runtime.path.deletions import Deletions
from tenure.runtime.path.detail import Detail
from tenure.runtime.path.slots import Slots
from tenure.settlement import Settlement


class Reporting:
    """Reports what became of the messages of one worker."""

    def __init__(  # noqa: PLR0913 - made in one place, by the pipeline
        self,
        clock: Clock,
        slots: Slots,
        facts: Facts,
        *,
        detail: Detail,
        sampler: Sampler,
        deletions: Deletions,
        bodies: BlobFetch,
        turns: FairTurns | None = None,
        on_reported: Callable[[], None] = lambda: None,
    ) -> None:
        """`facts` are published in the worker's name. `turns` share out the time that messages took.

        `on_reported` is called with each batch.
        """
        self._clock = clock
        self._slots = slots
        self._facts = facts
        self._detail = detail
        self._sampler = sampler
        self._deletions = deletions
        self._bodies = bodies
        self._turns = turns
        self._on_reported = on_reported
        self._unknown_tasks = log_lines.UnknownTaskLog(clock)

    def report(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        """Report deliveries that have left the path. None: nothing was settled."""
        owner, at = self._facts.owner_id(), self._clock.wall()
        self._slots.settle(len(settled))
        self._sampler.note(settled, at)
        self._deletions.note(settled, at)
        self._bodies.settled(settled)
        self._facts.count(settled)
        if self._turns is not None and self._turns.is_on:
            for delivery, _ in settled:
                self._turns.ended(delivery.lease.queue, delivery.seconds)
        self._on_reported()
        for delivery, settlement in log_lines.worth_logging(settled):
            log_lines.log(delivery, settlement, self._unknown_tasks, at=at)
        unusual: list[events.Told] = []
        told = events.events_of(settled, owner=owner, at=at, unusual=unusual)
        self._detail.ended(settled, unusual)
        self._facts.tell_endings(told, len(settled) - len(told))
