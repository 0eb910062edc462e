"""Deletions: how deletes ended, counted, with the first failures and why.

A delete that did not work is not lost, but it costs a run or a look later, and many of them point to a lease that is
too short or to a service in trouble. The first failures are kept: they show how it began. What was unknown is
resolved when the message is met again. Pure; used by `runtime/path/deletions.py` and by `tenure.standalone`.
"""

from collections import Counter
from typing import Any

import msgspec

from tenure.settlement import Outcome

#: This many messages are remembered whose delete did not work.
_OPEN = 10_000


class DeletionFailure(msgspec.Struct, frozen=True):
    """One delete that did not work."""

    id: str
    outcome: Outcome
    text: str
    #: Wall time.
    at: float | None = None


class DeletionStats(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment."""

    total: int
    deleted: int
    #: By outcome.
    outcomes: dict[str, int]
    #: Calls that were made.
    attempts: int
    #: Did not work at first, and known to be gone since.
    resolved: int
    first_failures: tuple[DeletionFailure, ...]

    @property
    def already_gone(self) -> int:
        """How many were gone before: neither a success nor a failure."""
        return self.outcomes.get(Outcome.ALREADY_GONE.value, 0)

    @property
    def failed(self) -> int:
        """How many did not work, resolved or not."""
        return self.total - self.already_gone - self.deleted

    @property
    def success_rate(self) -> float | None:
        """The part that worked, from 0 to 1, without those gone already. None: there was nothing to delete yet."""
        tried = self.total - self.already_gone
        return self.deleted / tried if tried else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as fields for an event, a log or JSON."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"success_rate": self.success_rate}

    def __str__(self) -> str:
        """Show it in a line."""
        if not self.total:
            return "nothing to delete"
        rate = "" if self.success_rate is None else f" ({100 * self.success_rate:.1f} %)"
        others = [f"{count} {word}" for word, count in self.outcomes.items() if word != Outcome.DELETED]
        more = [*others, f"{self.resolved} resolved since"] if self.failed else others
        return ", ".join([f"{self.deleted} of {self.total - self.already_gone} deleted{rate}", *more])


class DeletionTally:
    """Counts deletes. Not for several threads at once."""

    def __init__(self, kept_failures: int) -> None:
        """Count deletes; keep the reasons of the first `kept_failures`."""
        self._outcomes: Counter[Outcome] = Counter()
        self._attempts = 0
        self._resolved = 0
        self._kept = kept_failures
        self._failures: dict[str, DeletionFailure] = {}
        #: Not known to be gone, by id.
        self._open: dict[str, None] = {}

    def count_deleted(self, number: int, attempts: int) -> None:
        """Count deletes that worked. Call `settle` too for those that may have failed before."""
        self._outcomes[Outcome.DELETED] += number
        self._attempts += attempts

    def count_failed(self, failure: DeletionFailure, attempts: int) -> None:
        """Count a message that was not deleted. If it was gone already, that is counted apart and is no failure."""
        self._outcomes[failure.outcome] += 1
        self._attempts += attempts
        if failure.outcome is Outcome.ALREADY_GONE:
            self.settle(failure.id)
            return
        if len(self._failures) < self._kept:
            self._failures.setdefault(failure.id, failure)
        # One without an id cannot be known again: another one's success would seem to be its own.
        if failure.id and len(self._open) < _OPEN:
            self._open[failure.id] = None

    @property
    def has_open(self) -> bool:
        """Whether there are any of which it is not known that they are gone."""
        return bool(self._open)

    def settle(self, id: str) -> None:
        """Note that it is gone now, which resolves an earlier failure."""
        if id in self._open:
            del self._open[id]
            self._failures.pop(id, None)
            self._resolved += 1

    def stats(self) -> DeletionStats:
        """Return the counts."""
        return DeletionStats(
            total=self._outcomes.total(),
            deleted=self._outcomes[Outcome.DELETED],
            outcomes={outcome.value: count for outcome, count in sorted(self._outcomes.items()) if count},
            attempts=self._attempts,
            resolved=self._resolved,
            first_failures=tuple(self._failures.values()),
        )
