"""A picture: everything that `tenure top` shows, of one moment. None is "cannot be known", 0 is "none".

Made by `reading.py`; drawn by `screen.py`, written for programs by `document.py`.
"""

import msgspec

from tenure.notice import Pause
from tenure.query import HeldLease


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """What went through a queue, or a task of it, in the last minute or so (`Picture.window_seconds`)."""

    #: Messages a second that were sent.
    in_per_second: float | None = None
    #: Messages a second that ended: completed, or dead.
    out_per_second: float | None = None
    #: How long handlers ran.
    p50_seconds: float | None = None
    p95_seconds: float | None = None
    #: Of the runs that ended, the part that failed.
    error_share: float | None = None
    #: p95 of the runs over the lease that they had. Over 1: they live by their heartbeats.
    lease_use: float | None = None
    #: Messages a second that ended, in steps of ten seconds, oldest first.
    history: tuple[float, ...] = ()


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """One queue."""

    queue: str
    #: Ready to be leased.
    waiting: int | None
    delayed: int | None
    running: int | None
    dead: int | None
    #: The figures are guesses of the broker.
    estimated: bool = False
    #: How long the oldest of those that wait has been ready.
    oldest_seconds: float | None = None
    #: How long until nothing waits, if work goes on as in the last minute. `inf`: it grows.
    drains_in_seconds: float | None = None
    #: Workers that serve it.
    workers: int = 0
    paused: Pause | None = None
    flow: Flow = Flow()


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task in one queue. What waits is counted by queue, so it is known only where the queue has one task."""

    queue: str
    task: str
    running: int | None
    waiting: int | None = None
    oldest_seconds: float | None = None
    drains_in_seconds: float | None = None
    flow: Flow = Flow()


class WorkerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One worker, or another holder of leases."""

    id: str
    name: str
    host: str = ""
    pid: int = 0
    started_at: float | None = None
    queues: tuple[str, ...] = ()
    slots: int | None = None
    #: None: more leases are held than were read.
    holds: int | None = 0
    #: The soonest end of a lease that it holds.
    deadline: float | None = None
    #: Seconds since the store last heard of it.
    silent_seconds: float | None = None
    #: Why it counts as dead; empty: it does not.
    gone: str = ""
    #: False: it never joined, and is bound by its leases alone.
    has_presence: bool = True


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A place at one moment."""

    #: Unix seconds by the store's clock.
    now: float
    queues: tuple[QueueRow, ...] = ()
    tasks: tuple[TaskRow, ...] = ()
    leases: tuple[HeldLease, ...] = ()
    #: True: more leases are held than were read.
    leases_cut: bool = False
    workers: tuple[WorkerRow, ...] = ()
    last_sweep_at: float | None = None
    next_sweep_at: float | None = None
    #: Of all queues together.
    total: Flow = Flow()
    #: Rates and shares are of so many seconds.
    window_seconds: float = 60.0

    @property
    def waiting(self) -> int | None:
        """Of all queues. None: of one of them it cannot be known."""
        return _sum([one.waiting for one in self.queues])

    @property
    def running(self) -> int | None:
        """Of all queues."""
        return _sum([one.running for one in self.queues])

    @property
    def dead(self) -> int | None:
        """Of all queues."""
        return _sum([one.dead for one in self.queues])

    @property
    def oldest_seconds(self) -> float | None:
        """Of all queues. None: nothing waits, or it cannot be known."""
        return max((one.oldest_seconds for one in self.queues if one.oldest_seconds is not None), default=None)

    @property
    def alive(self) -> list[WorkerRow]:
        """The workers on the roster whose death is not proven."""
        return [one for one in self.workers if one.has_presence and not one.gone]


def _sum(figures: list[int | None]) -> int | None:
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None
