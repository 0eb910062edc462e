"""A forecast: what the samples of a task say about its next run, on each kind of machine, and how that was reckoned.

The same `Learned` that a worker asks gets the same samples, so the numbers are those that a worker comes to; the
steps are laid open beside them. A worker that runs already may hold on to a longer lease for a while, as it shortens
one slowly. Pure. Shown by `tenure timing`, step by step by `tenure timing explain`.
"""

from collections.abc import Sequence

import msgspec

from tenure.sample import Ended, Sample
from tenure.timing.learned import ENOUGH_RUNS, FIRST_CAUTION, MARGIN, QUANTILE, Bounds, Learned
from tenure.timing.prior import NO_PRIOR, Prior
from tenure.timing.wording import counted

#: A worker asks before every run; so often is enough.
_ASKED_EVERY = 16


class ForecastStep(msgspec.Struct, frozen=True):
    """One step of the calculation: its name, its number, and where that comes from."""

    name: str
    value: float
    #: "s", or "×" for a factor.
    unit: str
    why: str


class LeaseForecast(msgspec.Struct, frozen=True, kw_only=True):
    """The expectation for the next run on one kind of machine."""

    #: Empty: nothing was measured, or the samples do not say where they ran.
    hardware: str
    #: Runs that were observed, and how many they are worth now that the older ones count less.
    runs: int
    evidence: float
    #: Half of the runs take longer: the ETA. None: not known.
    typical_seconds: float | None
    #: 99 of 100 stay within it. None: nothing was measured.
    q99_seconds: float | None
    #: The lease for a run that no heartbeat renews, and why in one sentence.
    lease_seconds: float
    why: str
    #: A `max_hold` that no run so far would have met, and why. None: there are too few runs to say.
    hold_seconds: float | None
    hold_why: str | None


class Forecast(LeaseForecast, frozen=True, kw_only=True):
    """The same, with how it was reckoned."""

    steps: tuple[ForecastStep, ...]

    def without_steps(self) -> LeaseForecast:
        """The result alone."""
        return LeaseForecast(**{name: getattr(self, name) for name in LeaseForecast.__struct_fields__})


def forecasts(
    samples: Sequence[Sample],
    *,
    prior: Prior = NO_PRIOR,
    bounds: Bounds | None = None,
    default: float = 30.0,
    size: float | None = None,
) -> list[Forecast]:
    """Return a forecast for each kind of machine, the most runs first; without samples one from the prior."""
    bounds = bounds or Bounds()
    by_class: dict[str, Learned] = {}
    for place, sample in enumerate(sorted(samples, key=lambda one: one.at)):
        learned = by_class.get(sample.hardware)
        if learned is None:
            learned = by_class[sample.hardware] = Learned(prior=prior, bounds=bounds, default=default)
        learned.observe(sample.seconds, sample.size, killed=sample.ended is Ended.KILLED, at=sample.at)
        if place % _ASKED_EVERY == 0:  # by being asked it learns how size matters, as in a worker
            learned.predict(sample.size)
    if not by_class:
        by_class[""] = Learned(prior=prior, bounds=bounds, default=default)
    found = [_forecast(hardware, learned, prior, bounds, default, size) for hardware, learned in by_class.items()]
    return sorted(found, key=lambda one: -one.runs)


def beats_needed(run_seconds: float, first_seconds: float, interval_seconds: float) -> int:
    """Return how often the lease of a run of that length is renewed, if all goes well."""
    return 0 if run_seconds < first_seconds else 1 + int((run_seconds - first_seconds) // interval_seconds)


def _forecast(
    hardware: str, learned: Learned, prior: Prior, bounds: Bounds, default: float, size: float | None
) -> Forecast:
    runs = learned.runs if learned.count else 0.0  # first: this counts the new runs
    choice, hold = learned.choose(size), learned.hold() if learned.count else None
    return Forecast(
        hardware=hardware,
        runs=learned.count,
        evidence=runs,
        typical_seconds=learned.predict(size),
        q99_seconds=learned.quantile(QUANTILE, size),
        lease_seconds=choice.seconds,
        why=choice.why,
        hold_seconds=None if hold is None else hold.seconds,
        hold_why=None if hold is None else hold.why,
        steps=tuple(_steps(learned, prior, bounds, default, size, choice.seconds)),
    )


def _steps(
    learned: Learned, prior: Prior, bounds: Bounds, default: float, size: float | None, lease: float
) -> list[ForecastStep]:
    """The formula with its numbers: base × caution × margin, within the bounds."""
    slow, estimate = learned.quantile(QUANTILE, size), prior.estimate(size)
    runs = learned.runs if slow is not None else 0.0
    doubt = max(0.0, 1.0 - runs / ENOUGH_RUNS)
    caution = 1.0 + (FIRST_CAUTION - 1.0) * doubt
    steps = []
    if slow is None and estimate is None:
        lacking = "there is no profile" if prior.profile is None else "its profile needs a size"
        steps.append(ForecastStep("default", default, "s", f"nothing was measured, and {lacking}"))
        base, margin = default, 1.0
    elif slow is None and estimate is not None:
        steps.append(ForecastStep("profile", estimate.seconds, "s", f"nothing was measured; {estimate.source}"))
        base, margin = estimate.seconds, MARGIN
    else:
        base, margin = slow or 0.0, MARGIN
        predicted = learned.predict(size)
        if predicted:
            steps.append(ForecastStep("predicted", predicted, "s", "half of the runs take longer"))
            steps.append(
                ForecastStep("spread", base / predicted, "×", "actual ÷ predicted, which 99 of 100 runs stay within")
            )
        counting = f"of {counted(learned.count, 'run')}, which count as {runs:,.0f}: older ones fade"
        steps.append(ForecastStep("q99", base, "s", counting))
        if estimate is not None and doubt > 0.0 and estimate.seconds > base:
            base += doubt * (estimate.seconds - base)
            steps.append(
                ForecastStep("with the profile", base, "s", f"{estimate.source} counts for {100 * doubt:.0f} %")
            )
    reason = f"fewer than {ENOUGH_RUNS:.0f} runs" if caution > 1.0 else f"{ENOUGH_RUNS:.0f} runs or more are enough"
    steps.append(ForecastStep("caution", caution, "×", reason))
    if margin != 1.0:
        steps.append(ForecastStep("margin", margin, "×", "for slow networks, retries, and the one run in a hundred"))
    made = f"{base * caution * margin:,.2f} s, rounded up"
    alike = " for all sizes about as large" if size is not None else ""
    steps.append(
        ForecastStep(
            "lease", lease, "s", f"{made}{alike}, at least {bounds.least:g} s and at most {bounds.most:,.0f} s"
        )
    )
    return steps
