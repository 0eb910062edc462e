"""What was learned of one task on one queue and one kind of machine: how long it takes, and the lease to ask for.

    lease = ceil(predicted(size) × q99(actual ÷ predicted) × 1.75), within the broker's bounds

`predicted` is a running fit (`fit.py`), the quantile comes from a sketch (`sketch.py`); of a task without a size both
are one sketch of seconds. The rules around it:

- *Few runs.* The q99 of fewer than a hundred runs is only their longest. So it is doubled at first, and less and less
  until there are a hundred: × (2 - runs ÷ 100). Before the first run it is the profile's typical time, or the size
  table's, that is doubled; after it the profile fades in the same measure, and only ever makes the lease longer.
- *Fading.* A run counts half after `HALF_LIFE_SECONDS`, and half after `HALF_LIFE_RUNS` others.
- *Ended from outside* (`killed`): it would have taken longer. Over the typical time it counts as twice as long as it
  got; below, it tells nothing. So it can only make a lease longer. Failed runs are not told at all.
- *Hysteresis.* What differs by less than a tenth changes nothing. A longer lease is taken at once; a shorter one is
  approached by a tenth a minute, because too short costs a duplicate and too long only a wait after a crash.

It is fed and asked on the path of every message: `observe` takes about a microsecond, and `choose` looks into a cache
that is made anew when there is enough new evidence. Pure; `at` is any clock in seconds that all runs share.
"""

import math

import msgspec

from tenure.timing.fit import Fit, Line
from tenure.timing.margin import SAFETY_BUFFER
from tenure.timing.prior import NO_PRIOR, Estimate, Prior
from tenure.timing.sketch import GAMMA, Sketch
from tenure.timing.why import Why

QUANTILE = 0.99
MARGIN = 1.0 + SAFETY_BUFFER
#: At the first run; 1 from `ENOUGH_RUNS` on.
FIRST_CAUTION = 2.0
ENOUGH_RUNS = 100.0
#: A run that was ended from outside counts as so many times as long.
KILLED_FACTOR = 2.0
HALF_LIFE_SECONDS = 3 * 86_400.0
HALF_LIFE_RUNS = 2_000.0
#: What a lease may be off before it is changed, and by how much it falls in a minute.
HYSTERESIS = 0.1
FALL_A_MINUTE = 0.9
#: Looked at anew after so many runs, or the first one after so many seconds.
FRESH_RUNS = 32
FRESH_SECONDS = 1.0
#: Sizes that differ by less than a sixteenth share a lease, and so many sizes have one of their own.
_SIZES_A_LOG = 16.0
_MOST_SIZES = 256
#: Leases are made anew when what they are made of has changed by so much, or so long ago that they may fall.
_EDITION_CHANGE = 0.02
_EDITION_SECONDS = 10.0
#: The weight of a run is 2 to a power that grows.
_POWER_A_RUN = 1.0 / HALF_LIFE_RUNS
_POWER_A_SECOND = 1.0 / HALF_LIFE_SECONDS
_HEAVIEST = 2.0**64
_DUST = 1e-9

_LOG_GAMMA = math.log(GAMMA)
_log, _exp2 = math.log, math.exp2


class Choice:
    """A number of seconds that can say why."""

    __slots__ = ("_size", "_why", "seconds")

    def __init__(self, seconds: float, why: "str | Why", size: float | None = None) -> None:
        """`why` as a sentence, or what one can be made of when somebody asks."""
        self.seconds = seconds
        self._why = why
        self._size = size

    @property
    def why(self) -> str:
        """In one sentence."""
        return self._why if isinstance(self._why, str) else self._why.sentence(self.seconds, self._size)

    def __repr__(self) -> str:
        """The sentence."""
        return f"<Choice {self.why}>"


class Bounds(msgspec.Struct, frozen=True):
    """What the broker lends: at least, and at most."""

    least: float = 1.0
    most: float = 43_200.0

    def within(self, seconds: float) -> float:
        """The nearest that is allowed."""
        return max(self.least, min(seconds, self.most))


class _Standing:
    """The lease that stands for a size, since when, and what it was made of."""

    __slots__ = ("at", "edition", "level", "seconds", "why")

    def __init__(self, level: float, seconds: float, at: float, edition: int, why: Why) -> None:
        #: Before it was rounded up: it falls by less than a second at a time.
        self.level = level
        self.seconds = seconds
        self.at = at
        self.edition = edition
        self.why = why


class Learned:
    """How long one task takes."""

    __slots__ = (
        "_at", "_bounds", "_caution", "_default", "_edition", "_fit", "_fresh", "_line", "_looked_at", "_origin",
        "_power", "_prior", "_q50", "_q99", "_ratios", "_runs", "_seconds", "_sized_q50", "_sized_q99", "_standing",
        "_stood", "_stood_at", "_told", "_unit", "count",
    )  # fmt: skip

    def __init__(self, *, prior: Prior = NO_PRIOR, bounds: Bounds | None = None, default: float = 30.0) -> None:
        """Begin with `prior`; without it and without runs, the lease is `default` × 2."""
        self._prior = prior
        self._bounds = bounds or Bounds()
        self._default = default
        #: How many runs were counted, faded or not.
        self.count = 0
        #: Told, and not yet counted.
        self._told: list[tuple[float, float | None, float]] = []
        self._seconds = Sketch()
        # Of runs with a size.
        self._ratios = Sketch()
        self._fit = Fit()
        self._line: Line | None = None
        # The weight of a run is 2 to the power of its time and its number; `_unit` is that of the heaviest.
        self._origin = 0.0
        self._power = 0.0
        self._unit = 1.0
        self._at = -math.inf
        # What was looked up last, and how many came since.
        self._fresh = 0
        self._looked_at = -math.inf
        self._runs = 0.0
        self._caution = FIRST_CAUTION
        self._q50: float | None = None
        self._q99: float | None = None
        self._sized_q50: float | None = None
        self._sized_q99: float | None = None
        # The leases that stand, and what they were made of; a new edition when that has changed.
        self._edition = 0
        self._stood: tuple[float, float] = (0.0, 0.0)
        self._stood_at = -math.inf
        self._standing: dict[int | None, _Standing] = {}

    # -- telling -----------------------------------------------------------------------------------

    def observe(self, seconds: float, size: float | None = None, *, killed: bool = False, at: float = 0.0) -> None:
        """A run ended. `killed`: from outside; it would have taken longer. Failed runs are not for telling."""
        if killed:
            self._observe_killed(seconds, size, at)
            return
        told = self._told
        told.append((seconds, size, at))
        if len(told) >= FRESH_RUNS:
            self._take_in()

    def _observe_killed(self, seconds: float, size: float | None, at: float) -> None:
        self._look()
        typical = self.predict(size)
        if self.count and typical is not None and seconds < typical:
            return  # it was ended too early to tell anything
        self._told.append((KILLED_FACTOR * seconds, size, at))
        self._take_in()
        self._look()  # whoever asks next must hear of it

    def _take_in(self) -> None:
        """Count what was told, many at once: that takes half the time."""
        told = self._told
        if not told:
            return
        self._told = []
        if self.count == 0:
            self._origin = told[0][2]
        self.count += len(told)
        self._fresh += len(told)
        self._at = max(self._at, *(at for _, _, at in told))
        # The newest weigh most, so that old ones need not be touched.
        power, origin = self._power, self._origin
        self._power = power + len(told) * _POWER_A_RUN
        weights = [
            _exp2(power + number * _POWER_A_RUN + (at - origin) * _POWER_A_SECOND)
            for number, (_, _, at) in enumerate(told, 1)
        ]
        self._unit = max(self._unit, *weights)
        self._seconds.add_all([seconds for seconds, _, _ in told], weights)
        sized = [(size, seconds, w) for (seconds, size, _), w in zip(told, weights, strict=True) if size is not None]
        if sized:
            self._take_in_sized(sized)
        if self._unit > _HEAVIEST:
            self._lighten()

    def _take_in_sized(self, sized: list[tuple[float, float, float]]) -> None:
        line = self._line
        if line is None:
            line = self._line = Line(max(sized[0][1], _DUST))
        fixed, each = line.fixed, line.each
        runs = [(size, seconds, weight, fixed + each * size + _DUST) for size, seconds, weight in sized]
        self._ratios.add_all([run[1] / run[3] for run in runs], [run[2] for run in runs])
        self._fit.add_all(runs)

    def _lighten(self) -> None:
        """Weights have grown for a long while: from here on they begin at 1 again."""
        for part in (self._seconds, self._ratios, self._fit):
            part.fade(1.0 / self._unit)
        self._origin, self._power, self._unit = self._at, 0.0, 1.0

    # -- asking ------------------------------------------------------------------------------------

    def predict(self, size: float | None = None) -> float | None:
        """What a run of that size usually takes: half of them take longer. None: nobody can say."""
        self._refresh()
        if size is not None and self._line is not None and self._sized_q50 is not None:
            return self._line.at(size) * self._sized_q50
        if self._q50 is not None:
            return self._q50
        estimate = self._prior.estimate(size)
        return None if estimate is None else estimate.seconds

    def quantile(self, q: float, size: float | None = None) -> float | None:
        """What a part `q` of all runs, or of those of that size, stays within. None: there was no run."""
        self._take_in()
        if size is not None and self._line is not None:
            ratio = self._ratios.quantile(q)
            return None if ratio is None else self._line.at(size) * ratio
        return self._seconds.quantile(q)

    @property
    def evidence(self) -> float:
        """How many runs there are to rely on: the faded ones count less."""
        self._take_in()
        return self._seconds.count / self._unit

    def choose(self, size: float | None = None) -> Choice:
        """The lease for a run of that size, where nobody renews it."""
        self._refresh()
        if size is None:
            standing = self._standing.get(None)
            if standing is None or standing.edition != self._edition:
                standing = self._stand(None, standing)
            return Choice(standing.seconds, standing.why)
        key = int(_log(size) * _SIZES_A_LOG) if size > 1.0 else 0
        standing = self._standing.get(key)
        if standing is None or standing.edition != self._edition:
            standing = self._stand(key, standing)
        return Choice(standing.seconds, standing.why, size)

    # -- looking anew ------------------------------------------------------------------------------

    def _refresh(self) -> None:
        told = self._told
        if self._fresh or (told and told[-1][2] - self._looked_at >= FRESH_SECONDS):
            self._look()

    def _look(self) -> None:
        """Draw the line anew, and look up the quantiles that everything is made of."""
        self._take_in()
        self._fresh = 0
        self._looked_at = self._at
        self._runs = runs = self.evidence
        self._caution = 1.0 + (FIRST_CAUTION - 1.0) * max(0.0, 1.0 - runs / ENOUGH_RUNS)
        self._q50, self._q99 = self._seconds.quantile(0.5), self._seconds.quantile(QUANTILE)
        mean = 0.0
        if self._line is not None:
            self._redraw(self._line)
            self._sized_q50, self._sized_q99 = self._ratios.quantile(0.5), self._ratios.quantile(QUANTILE)
            mean = self._line.at(self._fit.mean_size) * (self._sized_q99 or 0.0)
        made_of = ((self._q99 or 0.0) * self._caution, mean * self._caution)
        if not _is_near(made_of, self._stood) or self._at - self._stood_at >= _EDITION_SECONDS:
            self._edition += 1
            self._stood, self._stood_at = made_of, self._at

    def _redraw(self, old: Line) -> None:
        """Replace the line, and let the ratios that were measured by the old one mean the same seconds.

        Only its shape matters, so its level is chosen such that all ratios move by whole buckets: no error adds up.
        """
        new = self._fit.line()
        if new is None:
            return
        size = self._fit.mean_size
        steps = round(math.log(old.at(size) / new.at(size)) / _LOG_GAMMA)
        level = old.at(size) / (new.at(size) * GAMMA**steps)
        self._line = new.times(level)
        if steps:
            self._ratios.shift(steps)

    def _stand(self, key: int | None, before: _Standing | None) -> _Standing:
        """The lease for a size, looked at anew."""
        wanted, why = self._wanted(None if key is None else math.exp((key + 1) / _SIZES_A_LOG))
        level = wanted
        if before is not None and wanted < before.level * (1.0 + HYSTERESIS):
            level = before.level
            if wanted < before.level * (1.0 - HYSTERESIS):
                level = max(wanted, level * FALL_A_MINUTE ** (max(0.0, self._at - before.at) / 60.0))
        if before is None and len(self._standing) >= _MOST_SIZES:
            self._standing.clear()  # rare: every size is looked at anew
        seconds = self._bounds.within(math.ceil(level - _DUST))
        if level != wanted:
            why = msgspec.structs.replace(why, wanted=wanted)
        standing = self._standing[key] = _Standing(level, seconds, self._at, self._edition, why)
        return standing

    def _wanted(self, size: float | None) -> tuple[float, Why]:
        """What the lease would be by the newest evidence alone."""
        estimate, slow = self._prior.estimate(size), self._slow(size)
        if slow is None:
            return self._unmeasured(estimate)
        caution, runs = self._caution, max(1, round(self._runs))
        doubt = (caution - 1.0) / (FIRST_CAUTION - 1.0)
        if estimate is None or estimate.seconds <= slow or doubt <= 0.0:
            return slow * caution * MARGIN, Why(MARGIN, slow, runs, caution=caution)
        blended = slow + doubt * (estimate.seconds - slow)
        return blended * caution * MARGIN, Why(MARGIN, slow, runs, estimate.seconds, estimate.source, caution)

    def _slow(self, size: float | None) -> float | None:
        """What 99 of 100 runs of that size stay within."""
        if size is not None and self._line is not None and self._sized_q99 is not None:
            return self._line.at(size) * self._sized_q99
        return self._q99

    def _unmeasured(self, estimate: Estimate | None) -> tuple[float, Why]:
        if estimate is None:
            return self._default * FIRST_CAUTION, Why(1.0, default=self._default, caution=FIRST_CAUTION)
        wanted = estimate.seconds * FIRST_CAUTION * MARGIN
        return wanted, Why(MARGIN, None, 0, estimate.seconds, estimate.source, FIRST_CAUTION)


def _is_near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(abs(a - b) <= _EDITION_CHANGE * b for a, b in zip(one, other, strict=True))
