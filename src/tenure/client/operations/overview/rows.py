"""An overview: everything that goes on at a store, of one moment. None is "cannot be known", 0 is "none".

Made by `reading.py`; drawn by `cli/commands/top/screen.py`, and the JSON of `tenure top --json` and of the server.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tenure.client.operations.queue_limit import QueueLimit
from tenure.notice import Pause
from tenure.query import HeldLease


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """What went through a queue, or a task of it, in the last minute or so (`Overview.window_seconds`)."""

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


class QueueOverview(msgspec.Struct, frozen=True, kw_only=True):
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
    #: How long until nothing waits, if work goes on as in the last minute. None: never (`grows`), or not known.
    drains_in_seconds: float | None = None
    #: As much comes in as goes out, or more. None: not known.
    grows: bool | None = None
    #: Workers that serve it.
    workers: int = 0
    paused: Pause | None = None
    #: The limit that messages of it wait for. None: none waits for one.
    limit: QueueLimit | None = None
    flow: Flow = Flow()


class TaskOverview(msgspec.Struct, frozen=True, kw_only=True):
    """One task in one queue. What waits is counted by queue, so it is known only where the queue has one task."""

    queue: str
    task: str
    running: int | None
    waiting: int | None = None
    oldest_seconds: float | None = None
    drains_in_seconds: float | None = None
    grows: bool | None = None
    flow: Flow = Flow()


class WorkerOverview(msgspec.Struct, frozen=True, kw_only=True):
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


class Mood(StrEnum):
    """How it goes."""

    WELL = "well"
    SOON = "soon"
    BAD = "bad"


class Headline(msgspec.Struct, frozen=True):
    """One sentence, and how bad it is."""

    mood: Mood
    text: str


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """All queues together."""

    #: None: of one of them it cannot be known.
    waiting: int | None = None
    running: int | None = None
    dead: int | None = None
    #: None: nothing waits, or it cannot be known.
    oldest_seconds: float | None = None
    #: Workers that are alive.
    workers: int = 0
    flow: Flow = Flow()


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A store at one moment."""

    #: Unix seconds by the store's clock.
    now: float
    headline: Headline = Headline(Mood.WELL, "")
    #: Rates and shares are of this many seconds.
    window_seconds: float = 60.0
    total: Total = Total()
    queues: tuple[QueueOverview, ...] = ()
    tasks: tuple[TaskOverview, ...] = ()
    leases: tuple[HeldLease, ...] = ()
    #: True: more leases are held than were read.
    leases_cut: bool = False
    workers: tuple[WorkerOverview, ...] = ()
    last_sweep_at: float | None = None
    next_sweep_at: float | None = None


def total_of(queues: Sequence[QueueOverview], workers: Sequence[WorkerOverview], flow: Flow) -> Total:
    """Add up the queues."""
    return Total(
        waiting=_sum([one.waiting for one in queues]),
        running=_sum([one.running for one in queues]),
        dead=_sum([one.dead for one in queues]),
        oldest_seconds=max((one.oldest_seconds for one in queues if one.oldest_seconds is not None), default=None),
        workers=sum(map(is_alive, workers)),
        flow=flow,
    )


def is_alive(worker: WorkerOverview) -> bool:
    """Whether it is on the roster, and its death is not proven."""
    return worker.has_presence and not worker.gone


def _sum(figures: Sequence[int | None]) -> int | None:
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None
