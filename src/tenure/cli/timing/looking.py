"""Where the figures of `tenure timing` come from: the journal, its samples, and the app's policies, if one is named.

With a URL the place is known but not the app: what the journal tells is shown, and the policy is said to be unknown.
"""

from collections.abc import Sequence

import msgspec

from tenure.app import Tenure
from tenure.broker import BrokerTraits
from tenure.finding import Finding, Severity
from tenure.sample import Sample
from tenure.survey import Survey, samples_of, survey
from tenure.task import Task
from tenure.timing.advice import advise
from tenure.timing.figures import Figures, Standing
from tenure.timing.forecast import Forecast, beats_needed, forecasts
from tenure.timing.learned import ENOUGH_RUNS, Bounds
from tenure.timing.policy import beat_interval, first_beat
from tenure.timing.prior import Prior, prior_for

_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


class Row(msgspec.Struct, frozen=True):
    """One queue and task."""

    figures: Figures
    #: Of the kind of machine that needs the longest lease.
    forecast: Forecast
    #: How long after its start a run is first renewed. None: never, or unknown.
    first_beat_seconds: float | None
    #: The profile that its figures follow while no run was measured. None: there is none, or there are runs.
    profile: str | None = None


class Look(msgspec.Struct, frozen=True):
    """Everything that `tenure timing` shows."""

    survey: Survey
    rows: tuple[Row, ...]
    #: The worst first.
    findings: tuple[Finding, ...]


async def look(app: Tenure, *, since_seconds: float, queue: str | None) -> Look:
    """The rows of all queues, or of one."""
    traits = app.broker.traits
    tasks = {(task.queue, name): task for name, task in app.tasks.items()}
    standings = {name: standing_of(task, traits) for name, task in tasks.items()}

    def sees(name: str) -> bool:
        return app.sees(name) and (queue is None or name == queue)

    standings = {name: standing for name, standing in standings.items() if sees(name[0])}
    found = await survey(app.state, since=app.clock.wall() - since_seconds, standings=standings, sees=sees)
    rows = [await _row(app, figures, tasks.get((figures.queue, figures.task))) for figures in found.figures]
    findings = [one for row in rows for one in advise(row.figures)]
    return Look(found, tuple(rows), tuple(sorted(findings, key=lambda one: _ORDER.index(one.severity))))


async def _row(app: Tenure, figures: Figures, task: Task[..., object] | None) -> Row:
    """The forecast is made of all samples that are kept, as a worker makes it."""
    samples = await samples_of(app.state.journal, figures.queue, figures.task)
    found = forecast_of(app, task, figures.task, samples)
    longest = max(found, key=lambda one: one.lease_seconds)
    if longest.q99_seconds is not None:
        hold = max((one.hold_seconds for one in found if one.hold_seconds is not None), default=None)
        figures = msgspec.structs.replace(
            figures, advised_lease_seconds=longest.lease_seconds, advised_hold_seconds=hold
        )  # fmt: skip
    standing = as_learned(figures.standing, longest)
    prior = prior_of(task, figures.task)
    profile = (prior.name or None) if prior.profile is not None and longest.q99_seconds is None else None
    figures = msgspec.structs.replace(figures, standing=standing)
    return Row(figures, longest, first_beat_of(standing, longest), profile)


def forecast_of(
    app: Tenure, task: Task[..., object] | None, name: str, samples: Sequence[Sample], size: float | None = None
) -> list[Forecast]:
    """As a worker reckons: by the task's profile, else the one that is called as it is, within the broker's bounds."""
    traits = app.broker.traits
    return forecasts(
        samples, prior=prior_of(task, name), default=app.settings.lease_seconds, size=size,
        bounds=Bounds.lent(traits.min_lease_seconds, traits.max_lease_seconds),
    )  # fmt: skip


def prior_of(task: Task[..., object] | None, name: str) -> Prior:
    """What is believed of a task beforehand."""
    return prior_for(None, name) if task is None else task.prior


def is_by_name(prior: Prior, task: Task[..., object] | None) -> bool:
    """Whether a profile applies because the task has its name, and not because the task names it."""
    return prior.profile is not None and (task is None or task.policy.profile is None)


def standing_of(task: Task[..., object], traits: BrokerTraits) -> Standing:
    """The policy of a task as advice needs it."""
    lease = task.policy.lease
    return Standing(
        lease.seconds, is_renewed=lease.heartbeat, is_learned=lease.is_learned,
        is_by_size=lease.is_learned and task.sizer is not None,
        max_hold_seconds=lease.max_hold_seconds, ceiling_seconds=traits.max_lease_seconds,
    )  # fmt: skip


def as_learned(standing: Standing | None, forecast: Forecast) -> Standing | None:
    """With the lease that a worker would ask for, where it is learned."""
    if standing is None or not standing.is_learned:
        return standing
    return msgspec.structs.replace(standing, lease_seconds=forecast.lease_seconds)


def first_beat_of(standing: Standing | None, forecast: Forecast) -> float | None:
    """When a run is first renewed. None: never, or the policy is not known."""
    if standing is None or not standing.is_renewed:
        return None
    usual = forecast.q99_seconds if forecast.evidence >= ENOUGH_RUNS else None
    return first_beat(standing.lease_seconds, usual)


def beats_of(standing: Standing | None, forecast: Forecast) -> int | None:
    """How often 99 of 100 runs are renewed at most. None: never, or nothing is known of them."""
    first, slow = first_beat_of(standing, forecast), forecast.q99_seconds
    if standing is None or first is None or slow is None:
        return None
    return beats_needed(slow, first, beat_interval(standing.lease_seconds))
