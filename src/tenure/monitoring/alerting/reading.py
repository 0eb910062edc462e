"""A reading: what is known of a store at one moment, as far as alerts and detectors need it.

None is "cannot be known". Made by `client/alert_reading.py`; read by `signals/` and `monitoring/detectors`.
"""

from collections.abc import Mapping

import msgspec

from tenure.act import Act
from tenure.query import HeldLease


class QueueReading(msgspec.Struct, frozen=True, kw_only=True):
    """One queue."""

    name: str
    waiting: int | None = None
    running: int | None = None
    dead: int | None = None
    #: How long the oldest of those that wait has been ready.
    oldest_seconds: float | None = None
    #: How long a message may wait here.
    expected_seconds: float = 300.0
    #: Live workers that serve it.
    workers: int = 0
    paused_at: float | None = None
    #: Messages wait for the limit of the queue.
    is_limited: bool = False
    #: Messages a second that were sent, in the last minute or so.
    in_per_second: float | None = None


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted of one task in one queue, over some last seconds."""

    queue: str
    #: Empty: of no one task, as what a sweep returned.
    task: str = ""
    #: Messages by outcome, with the words of events.
    outcomes: Mapping[str, int] = {}
    #: Handlers that ran, and messages by any outcome that were delivered.
    runs: int = 0
    deliveries: int = 0
    #: p95 of the run times over the lease. None: nothing ran.
    lease_use: float | None = None
    #: Leases that were renewed.
    beats: int = 0
    #: How deletes of finished messages ended, by `settlement.Outcome`.
    deletes: Mapping[str, int] = {}
    #: Bytes of envelopes.
    size: int = 0

    def count(self, *outcomes: str) -> int:
        """Messages with one of these outcomes."""
        return sum(self.outcomes.get(one, 0) for one in outcomes)


class Usual(msgspec.Struct, frozen=True, kw_only=True):
    """What is usual for a queue or a task, over the last day. None: not known."""

    #: p99 of the run times.
    run_seconds: float | None = None
    #: Messages a second that ended.
    rate: float | None = None


class WorkerReading(msgspec.Struct, frozen=True, kw_only=True):
    """One worker on the roster."""

    id: str
    name: str
    is_alive: bool = True
    silent_seconds: float = 0.0
    #: Leases that it holds.
    holds: int | None = 0
    #: Its wall clock minus the store's.
    skew_seconds: float | None = None
    #: Events that it could not write yet.
    journal_waiting: int | None = None


class EndpointReading(msgspec.Struct, frozen=True, kw_only=True):
    """One receiver of webhooks."""

    name: str
    #: When the first of its failures in a row was. None: it answers.
    failing_since: float | None = None
    error: str = ""
    #: Why it was disabled, unless by an operator. None: it was not.
    disabled: str | None = None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted over some last seconds."""

    seconds: float
    counted: tuple[Counted, ...] = ()
    #: Facts about processes, by kind of event: heartbeats that failed, workers that died.
    facts: Mapping[str, int] = {}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A store at one moment."""

    #: Wall time by the store's clock.
    now: float
    #: Why it could not be read; everything else is unknown then. Empty: it was.
    away: str = ""
    #: How long reading it took.
    store_seconds: float = 0.0
    queues: tuple[QueueReading, ...] = ()
    #: By length.
    windows: Mapping[float, Window] = {}
    #: By queue and task; by queue with an empty task.
    usual: Mapping[tuple[str, str], Usual] = {}
    leases: tuple[HeldLease, ...] = ()
    workers: tuple[WorkerReading, ...] = ()
    #: Attempts that a task has, where the app's code says so.
    max_attempts: Mapping[str, int] = {}
    default_max_attempts: int = 3
    endpoints: tuple[EndpointReading, ...] = ()
    #: What people did lately (`ACT_SECONDS`), newest first.
    acts: tuple[Act, ...] = ()
    last_sweep_at: float | None = None
    sweep_interval_seconds: float = 5.0
    #: When the oldest ending was reached that is not announced. None: all are.
    oldest_untold_at: float | None = None

    def window(self, seconds: float) -> Window:
        """What was counted over the last `seconds`."""
        return self.windows.get(seconds) or Window(seconds=seconds)


#: So far back a reading has the acts of people.
ACT_SECONDS = 3_600.0
#: The lengths of windows that readings have.
WINDOW_SECONDS = (60.0, 300.0, 600.0, 900.0)
