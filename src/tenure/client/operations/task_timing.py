"""The timing of one task on one queue: how long it takes, what its lease is used for, and what to change.

Made of the figures of a survey (`statistics.py`), the forecast that a worker would make (`timing/forecast.py`) and the
task's policy, where the app's code is known. With a URL alone the policy is not, and what needs it is None.
Used by `timing.py` and `tenure timing explain`.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tenure.broker import BrokerTraits
from tenure.client.operations.access import Access
from tenure.finding import Finding
from tenure.sample import Sample
from tenure.tasks.task import Task
from tenure.timing.advice import USE_CRITICAL, USE_HIGH, advise
from tenure.timing.distribution import DurationBucket, distribution
from tenure.timing.figures import Durations, Standing, TaskFigures
from tenure.timing.forecast import Forecast, LeaseForecast, beats_needed, forecasts
from tenure.timing.learned import ENOUGH_RUNS, Bounds
from tenure.timing.policy import beat_interval, first_beat
from tenure.timing.prior import Prior, prior_for
from tenure.timing.why import duration


class LeaseStatus(StrEnum):
    """How a lease fits the work."""

    #: q99 stays below 80 % of it.
    OK = "ok"
    HIGH = "high"
    #: From 90 % on.
    CRITICAL = "critical"
    #: The heartbeat renews it: it is the crash window, however long the work takes.
    RENEWED = "renewed"
    #: The policy is not known, no run was measured, or each message has a lease for its size.
    UNKNOWN = "unknown"


class Redelivered(msgspec.Struct, frozen=True, kw_only=True):
    """How often messages came again, by cause. None: their task is not known."""

    retry: int
    expiry: int | None
    crash: int | None


class TaskTiming(msgspec.Struct, frozen=True, kw_only=True):
    """One queue and task. Seconds everywhere, parts from 0 to 1; None is "cannot be known"."""

    queue: str
    task: str
    #: None: no run was measured in that time.
    durations: Durations | None
    #: The lease of every message. None: the policy is not known, or each message has one for its size.
    lease_seconds: float | None
    renewed: bool | None
    #: Whether it follows what was measured.
    learned: bool | None
    by_size: bool | None
    max_hold_seconds: float | None
    #: The part of the lease that 99 of 100 runs stay within. None: unknown, renewed, or by size.
    use: float | None
    #: What is to be expected of the next run, and the lease that it needs without a heartbeat.
    forecast: LeaseForecast
    #: How long after its start a run is first renewed. None: never, or unknown.
    first_beat_seconds: float | None
    #: How often 99 of 100 runs are renewed at most.
    beats_at_q99: int | None
    completed: int
    dead: int
    duplicates: int
    duplicate_rate: float | None
    deletes: int
    #: Deletes of finished messages of which it is not known that they worked.
    deletes_failed: int
    deletion_failure_rate: float | None
    #: Runs that ended after their lease was gone.
    overran: int
    redelivered: Redelivered
    #: Why the lease is as long as it is, in one sentence.
    lease_why: str
    #: From q99 to the end of the lease; below 0: it is too short. None as in `use`.
    margin_seconds: float | None
    status: LeaseStatus
    #: A `max_hold` that no run so far would have met. None: there are too few runs to say.
    advised_hold_seconds: float | None
    #: The profile that the forecast follows while no run was measured. None: there is none, or there are runs.
    profile: str | None
    #: How long the runs of `durations` took, at most 48 buckets.
    distribution: tuple[DurationBucket, ...]
    #: What is wrong or good, the worst first, with evidence and remedy.
    findings: tuple[Finding, ...]


def task_timing(
    figures: TaskFigures,
    task: Task[..., object] | None,
    samples: Sequence[Sample],
    found: Sequence[Forecast],
    since: float,
) -> TaskTiming:
    """Put together what is known. `samples`: all that are kept; `found`: the forecast of each kind of machine."""
    longest = max(found, key=lambda one: one.lease_seconds)
    if longest.q99_seconds is not None:
        hold = max((one.hold_seconds for one in found if one.hold_seconds is not None), default=None)
        figures = msgspec.structs.replace(
            figures, advised_lease_seconds=longest.lease_seconds, advised_hold_seconds=hold
        )
    standing = as_learned(figures.standing, longest)
    figures = msgspec.structs.replace(figures, standing=standing)
    prior = prior_of(task, figures.task)
    use = figures.lease_use
    fixed = None if standing is None or standing.is_by_size else standing.lease_seconds
    return TaskTiming(
        queue=figures.queue, task=figures.task, durations=figures.durations, lease_seconds=fixed,
        renewed=None if standing is None else standing.is_renewed,
        learned=None if standing is None else standing.is_learned,
        by_size=None if standing is None else standing.is_by_size,
        max_hold_seconds=None if standing is None else standing.max_hold_seconds,
        use=use, forecast=longest.without_steps(), first_beat_seconds=first_beat_of(standing, longest),
        beats_at_q99=beats_of(standing, longest), completed=figures.completed, dead=figures.dead,
        duplicates=figures.duplicates, duplicate_rate=figures.duplicate_rate, deletes=figures.deletes,
        deletes_failed=figures.deletes_failed, deletion_failure_rate=figures.deletion_failure_rate,
        overran=figures.overran,
        redelivered=Redelivered(retry=figures.retried, expiry=figures.expired, crash=figures.crashed),
        lease_why=lease_why(standing, longest),
        margin_seconds=None if use is None or fixed is None else fixed * (1.0 - use), status=_status(standing, use),
        advised_hold_seconds=figures.advised_hold_seconds,
        profile=(prior.name or None) if prior.profile is not None and longest.q99_seconds is None else None,
        distribution=distribution([one.seconds for one in samples if one.at >= since]),
        findings=tuple(advise(figures)),
    )  # fmt: skip


def lease_why(standing: Standing | None, forecast: LeaseForecast) -> str:
    """Explain the lease in one sentence, as in `72 s: q99 41 s of 1,240 runs × 1.75`."""
    if standing is None:
        return "not known: the store does not have the task's policy, only the app's code has"
    length = duration(standing.lease_seconds)
    if standing.is_renewed:
        return f"{length}: the crash window; the heartbeat renews the lease however long the work takes"
    if standing.is_by_size:
        return f"by the size of each message; without a size {forecast.why}"
    if standing.is_learned:
        return forecast.why
    return f"{length}: set on the task; it is not renewed, so it must outlast the work"


def _status(standing: Standing | None, use: float | None) -> LeaseStatus:
    if standing is not None and standing.is_renewed:
        return LeaseStatus.RENEWED
    if use is None:
        return LeaseStatus.UNKNOWN
    return LeaseStatus.CRITICAL if use >= USE_CRITICAL else LeaseStatus.HIGH if use >= USE_HIGH else LeaseStatus.OK


def forecast_of(
    access: Access, task: Task[..., object] | None, name: str, samples: Sequence[Sample], size: float | None = None
) -> list[Forecast]:
    """Forecast as a worker does: by the task's profile, else the one of its name, within the broker's bounds."""
    traits = access.broker.traits
    return forecasts(
        samples,
        prior=prior_of(task, name),
        default=access.settings.lease_seconds,
        size=size,
        bounds=Bounds.lent(traits.min_lease_seconds, traits.max_lease_seconds),
    )


def prior_of(task: Task[..., object] | None, name: str) -> Prior:
    """The expectation for a task before it was measured."""
    return prior_for(None, name) if task is None else task.prior


def is_by_name(prior: Prior, task: Task[..., object] | None) -> bool:
    """Whether a profile applies because the task has its name, and not because the task names it."""
    return prior.profile is not None and (task is None or task.policy.profile is None)


def standing_of(task: Task[..., object], traits: BrokerTraits) -> Standing:
    """The policy of a task as advice needs it."""
    lease = task.policy.lease
    return Standing(
        lease.seconds,
        is_renewed=lease.heartbeat,
        is_learned=lease.is_learned,
        is_by_size=lease.is_learned and task.sizer is not None,
        max_hold_seconds=lease.max_hold_seconds,
        ceiling_seconds=traits.max_lease_seconds,
    )


def as_learned(standing: Standing | None, forecast: LeaseForecast) -> Standing | None:
    """Return it with the lease that a worker would ask for, where the lease is learned."""
    if standing is None or not standing.is_learned:
        return standing
    return msgspec.structs.replace(standing, lease_seconds=forecast.lease_seconds)


def first_beat_of(standing: Standing | None, forecast: LeaseForecast) -> float | None:
    """Return when a run is first renewed. None: never, or the policy is not known."""
    if standing is None or not standing.is_renewed:
        return None
    usual = forecast.q99_seconds if forecast.evidence >= ENOUGH_RUNS else None
    return first_beat(standing.lease_seconds, usual)


def beats_of(standing: Standing | None, forecast: LeaseForecast) -> int | None:
    """Return how often 99 of 100 runs are renewed at most. None: never, or no run is known."""
    first, slow = first_beat_of(standing, forecast), forecast.q99_seconds
    if standing is None or first is None or slow is None:
        return None
    return beats_needed(slow, first, beat_interval(standing.lease_seconds))
