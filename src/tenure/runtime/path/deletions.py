"""Deletions: counts how the deletes of a worker ended, and reports failures.

Counted at the end of the path (`pipeline.py`). While there is anything to report, a log line and an event are written
once a minute, and at the end. Brokers that settle exactly once have almost nothing to report.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.deletion import DeletionFailure, DeletionStats, DeletionTally
from tenure.event import EventKind
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Duplicate

logger = logging.getLogger("tenure.worker")

KEPT_FAILURES = 20
TELL_SECONDS = 60.0

_WHY = {
    Outcome.ALREADY_GONE: "it was already deleted, by a call whose answer was lost or by another worker",
    Outcome.TAKEN_OVER: "another worker holds it now; nothing was changed",
    Outcome.UNKNOWN: "no reliable answer; if the message comes back, it is recognised as completed and deleted",
}

#: Verdicts that delete the message. Looked at for every one: a tuple is faster than a union of types.
_DELETING = (Completed, Duplicate)
_DELETED = Outcome.DELETED

Tell = Callable[[EventKind, dict[str, object]], None]


class Deletions:
    """The deletes of one worker."""

    def __init__(self, tell: Tell) -> None:
        """Start without deletes; `tell` publishes an event."""
        self._tell = tell
        self._tally = DeletionTally(KEPT_FAILURES)
        self._told = (0, 0)
        self._wake = asyncio.Event()

    @property
    def stats(self) -> DeletionStats:
        """The counts now."""
        return self._tally.stats()

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], at: float) -> None:
        """Count. Called for every message, so it must cost next to nothing."""
        number = attempts = 0
        tally = self._tally
        has_open = tally.has_open
        for delivery, settlement in settled:
            if settlement is None or type(delivery.verdict) not in _DELETING:
                continue
            if settlement.outcome is not _DELETED:
                self._note_failure(delivery.id, settlement, at)
                has_open = tally.has_open
                continue
            number += 1
            attempts += settlement.attempts
            if has_open:
                tally.settle(delivery.id)
        tally.count_deleted(number, attempts)

    def _note_failure(self, id: str, settlement: Settlement, at: float) -> None:
        outcome = settlement.outcome
        self._tally.count_failed(DeletionFailure(id, outcome, _WHY.get(outcome, ""), at), settlement.attempts)
        self._wake.set()

    async def run(self) -> None:
        """Report, at most once a minute."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(TELL_SECONDS)
            self.tell()

    def tell(self) -> None:
        """Report how deletes ended, if there is anything new."""
        stats = self.stats
        news = (stats.failed, stats.resolved)
        if news == self._told:
            logger.debug("deletes: %s", stats)
            return
        self._told = news
        first = next(iter(stats.first_failures), None)
        example = "" if first is None else f"; the first of these: {first.id} ({first.outcome}: {first.text})"
        logger.warning("deletes: %s%s", stats, example)
        self._tell(EventKind.DELETIONS, stats.as_dict())
