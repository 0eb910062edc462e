"""Figures: what is known of one queue and task, as `advice.py` judges it.

None is "cannot be known", 0 is "none": where no run was measured there are no quantiles, where nothing was finished
there is no rate. Pure. Made by `client/statistics.py` from the journal; a test or a simulation may make them by hand.
"""

import math
from collections.abc import Sequence

import msgspec

#: Of fewer runs, the high quantiles are the longest run.
RUNS_FOR_Q95, RUNS_FOR_Q99 = 20, 100
#: Of a product: 0.95 of 20 is 19, whatever floats make of it.
_DUST = 1e-9


class Durations(msgspec.Struct, frozen=True):
    """How long runs took, by this many samples."""

    samples: int
    #: Of them, those that were ended from outside: they would have taken longer.
    killed: int
    mean: float
    q50: float
    q95: float
    q99: float
    longest: float

    @classmethod
    def of(cls, seconds: Sequence[float], killed: int = 0) -> "Durations | None":
        """The exact quantiles; of few runs the high ones are the longest. None: nothing was measured."""
        if not seconds:
            return None
        ordered = sorted(seconds)
        mean = math.fsum(ordered) / len(ordered)
        q50, q95, q99 = (quantile(ordered, part) for part in (0.5, 0.95, 0.99))
        return cls(len(ordered), killed, mean, q50, q95, q99, ordered[-1])


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value that this part of them stays within."""
    return ordered[max(1, math.ceil(part * len(ordered) - _DUST)) - 1]


class Standing(msgspec.Struct, frozen=True):
    """The policy that a task has now."""

    lease_seconds: float
    #: Whether the heartbeat renews the lease. Then the lease is the crash window, however long the work takes.
    is_renewed: bool = True
    #: No heartbeat renews it and no length was given: it follows what was measured.
    is_learned: bool = False
    #: Each message has a lease for its own size: there is no one lease that runs could be compared with.
    is_by_size: bool = False
    #: Ends a hung handler. None: never.
    max_hold_seconds: float | None = None
    #: The longest lease that the broker gives.
    ceiling_seconds: float = math.inf


class TaskFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One queue and task. The counts are of one window of time; None where they cannot be separated."""

    queue: str
    task: str
    #: None: only the place is known, not the app.
    standing: Standing | None = None
    durations: Durations | None = None
    completed: int = 0
    #: Attempts that failed and come back.
    retried: int = 0
    #: Of them, those that `max_hold` ended.
    held: int = 0
    dead: int = 0
    #: Known as done when they came again, and only deleted.
    duplicates: int = 0
    #: Came back because their lease had ended, and what became of the holder is not known.
    expired: int | None = 0
    #: Came back because their worker died.
    crashed: int | None = 0
    #: Runs that ended after their lease was gone; another worker may have run the message meanwhile.
    overran: int = 0
    #: What was learned: the lease for a run that no heartbeat renews, and a `max_hold`. None: the formula must do.
    advised_lease_seconds: float | None = None
    advised_hold_seconds: float | None = None
    #: Deletes of finished messages, and those of which it was not known that they worked.
    deletes: int = 0
    deletes_failed: int = 0

    @property
    def deliveries(self) -> int:
        """The number of leases with a known end."""
        ended = self.completed + self.retried + self.dead + self.duplicates
        # A lease that ended may be reported twice: by the sweep that returned the message, and by its late holder.
        return ended + max(self.expired or 0, self.overran) + (self.crashed or 0)

    @property
    def redelivered(self) -> int | None:
        """How often a message was delivered again, for any reason. None: unknown."""
        if self.expired is None or self.crashed is None:
            return None
        return self.retried + self.expired + self.crashed

    @property
    def duplicate_rate(self) -> float | None:
        """The part of completed messages that were delivered again after their completion."""
        return rate(self.duplicates, self.completed + self.duplicates)

    @property
    def deletion_failure_rate(self) -> float | None:
        """The part of deletes that failed."""
        return rate(self.deletes_failed, self.deletes)

    @property
    def lease_use(self) -> float | None:
        """The part of the lease that all but one run in a hundred stay within. None: unknown, renewed, or by size."""
        standing = self.standing
        if standing is None or standing.is_renewed or standing.is_by_size or self.durations is None:
            return None
        return self.durations.q99 / standing.lease_seconds


def rate(part: int | None, whole: int | None) -> float | None:
    """A part of a whole. None: there is no whole, or one of them is unknown."""
    return None if part is None or not whole else part / whole
