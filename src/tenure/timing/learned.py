"""The learned duration of one task on one queue and one kind of machine, and the lease that follows from it.

    lease = ceil(predicted(size) × q99(actual ÷ predicted) × 1.75), within the broker's bounds

Of a task without a size, predicted is a constant. The rules around it:

- *Few runs.* The q99 of fewer than a hundred runs is only their longest. So it is doubled at first, and less and less
  until there are a hundred: × (2 - runs ÷ 100). Before the first run it is the profile's typical time, or the size
  table's, that is doubled; after it the profile fades in the same measure, and only ever makes the lease longer.
- *Old runs fade* (`evidence.py`).
- *Ended from outside* (`killed`): it would have taken longer. Over the typical time it counts as twice as long as it
  got; below, it is ignored. So it can only make a lease longer. Failed runs are not counted.
- *Hysteresis.* What differs by less than a tenth changes nothing. A longer lease is taken at once; a shorter one is
  approached by a tenth a minute, because too short costs a duplicate and too long only a wait after a crash; from more
  than ten times as long as needed by half a minute, because a wait of hours is a high price.
- *Once is not a rule* (`doubt.py`): a run of hours among runs of seconds is not believed before it happens again.

It is fed and asked on the path of every message: `observe` takes less than a microsecond, and `choose` looks into a
cache that is made again when there is new evidence, once in 64 runs or a second.
"""

import math

import msgspec

from tenure.timing.evidence import TOLD_AT_ONCE, Evidence
from tenure.timing.foresight import Foresight
from tenure.timing.margin import SAFETY_BUFFER
from tenure.timing.prior import NO_PRIOR, Estimate, Prior
from tenure.timing.why import Why, duration

QUANTILE = 0.99
MARGIN = 1.0 + SAFETY_BUFFER
#: Before the first run; 1 from `ENOUGH_RUNS` on.
FIRST_CAUTION = 2.0
ENOUGH_RUNS = 100.0
#: A run that was ended from outside counts as so many times as long.
KILLED_FACTOR = 2.0
#: What a lease may be off before it is changed, and how it falls in a minute.
HYSTERESIS = 0.1
FALL_A_MINUTE = 0.9
#: A lease over this many times the needed one falls faster.
FAR = 10.0
FALL_FROM_FAR = 0.5
#: However short the work: in less than this, a hiccup of the machine would cost a lease.
LEAST_SECONDS = 5.0
#: A run that takes this many times the longest one hangs.
HOLD_FACTOR = 3.0

#: New evidence is looked at no more often than this, unless much came at once.
_FRESH_SECONDS = 1.0
#: Leases are made again when what they are made of has changed by so much, or so long ago that they may fall.
_EDITION_CHANGE = 0.02
_EDITION_SECONDS = 10.0
#: Sizes that differ by less than a sixteenth share a lease, and this many sizes have one of their own.
_SIZES_A_LOG = 16.0
_MOST_SIZES = 256
_DUST = 1e-9

_log = math.log


class Choice:
    """A number of seconds that can say why."""

    __slots__ = ("_size", "_why", "seconds")

    def __init__(self, seconds: float, why: "str | Why", size: float | None = None) -> None:
        """`why` as a sentence, or what one can be made of on demand."""
        self.seconds = seconds
        self._why = why
        self._size = size

    @property
    def why(self) -> str:
        """Explain the lease in one sentence."""
        return self._why if isinstance(self._why, str) else self._why.sentence(self.seconds, self._size)

    def __repr__(self) -> str:
        """Return the sentence of `why`."""
        return f"<Choice {self.why}>"


class Bounds(msgspec.Struct, frozen=True):
    """The shortest and the longest lease that is asked for."""

    least: float = 1.0
    most: float = 43_200.0

    @classmethod
    def lent(cls, least: float, most: float) -> "Bounds":
        """By a broker that lends for at least and at most so long: all of that, but for what is too short for work."""
        return cls(min(max(LEAST_SECONDS, least), most), most)

    def within(self, seconds: float) -> float:
        """The nearest that is allowed."""
        return max(self.least, min(seconds, self.most))


class _Standing:
    """The lease for a size, since when, and what it was made of."""

    __slots__ = ("at", "edition", "level", "seconds", "why")

    def __init__(self, level: float, seconds: float, at: float, edition: int, why: Why) -> None:
        #: Before it was rounded up: it falls by less than a second at a time.
        self.level = level
        self.seconds = seconds
        self.at = at
        self.edition = edition
        self.why = why


class Learned:
    """The learned duration of one task."""

    __slots__ = (
        "_bounds", "_caution", "_default", "_edition", "_evidence", "_is_halved", "_looked_at", "_prior", "_q50",
        "_q99", "_runs", "_seen", "_sized_q50", "_sized_q99", "_standing", "_stood", "_stood_at",
    )  # fmt: skip

    def __init__(self, *, prior: Prior = NO_PRIOR, bounds: Bounds | None = None, default: float = 30.0) -> None:
        """Begin with `prior`; without it and without runs, the lease is `default` × 2."""
        self._prior = prior
        self._bounds = bounds or Bounds()
        self._default = default
        self._evidence = Evidence()
        # What was looked up last, and how much was counted by then.
        self._seen = 0
        self._looked_at = -math.inf
        self._runs = 0.0
        self._caution = FIRST_CAUTION
        self._is_halved = False
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
        told = self._evidence.told
        told.append((seconds, size, at))
        if len(told) >= TOLD_AT_ONCE:
            self._evidence.take_in()

    def _observe_killed(self, seconds: float, size: float | None, at: float) -> None:
        self._look()
        typical = self.predict(size)
        if self.count and typical is not None and seconds < typical:
            return  # it was ended too early to show anything
        self._evidence.told.append((KILLED_FACTOR * seconds, size, at))
        self._look()  # the next caller must get it

    # -- asking ------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of observed runs, faded or not."""
        return self._evidence.count + len(self._evidence.told)

    @property
    def runs(self) -> float:
        """The number of runs to rely on: faded ones count less."""
        self._evidence.take_in()
        return self._evidence.runs

    def predict(self, size: float | None = None) -> float | None:
        """Predict the median duration of a run of that size. None: unknown."""
        return self.foresight().seconds(size)

    def foresight(self) -> Foresight:
        """Return the current expectation of a run's duration."""
        self._refresh()
        line = self._evidence.line
        if not self._is_halved:  # asked for less often than the lease
            self._is_halved = True
            self._q50 = self._evidence.quantile(0.5)
            self._sized_q50 = None if line is None else self._evidence.ratio(0.5)
        return Foresight(self._q50, line, self._sized_q50, self._prior)

    def quantile(self, q: float, size: float | None = None) -> float | None:
        """Return the duration that a part `q` of all runs, or of those of that size, does not exceed. None: no runs."""
        self._evidence.take_in()
        line = self._evidence.line
        if size is None or line is None:
            return self._evidence.quantile(q)
        ratio = self._evidence.ratio(q)
        return None if ratio is None else line.at(size) * ratio

    def choose(self, size: float | None = None) -> Choice:
        """The lease for a run of that size, where no heartbeat renews it."""
        self._refresh()
        key = None if size is None else int(_log(size) * _SIZES_A_LOG) if size > 1.0 else 0
        standing = self._standing.get(key)
        if standing is None or standing.edition != self._edition:
            standing = self._stand(key, standing)
        return Choice(standing.seconds, standing.why, size)

    def usual(self, size: float | None = None) -> float | None:
        """The duration that 99 of 100 runs did not exceed at the last look. None: there are too few runs."""
        self._refresh()
        return self._slow(size) if self._runs >= ENOUGH_RUNS else None

    def hold(self) -> Choice | None:
        """A `max_hold` that no run so far would have met. None: there are too few runs to say."""
        runs, longest = self.runs, self._evidence.longest
        if longest is None or runs < ENOUGH_RUNS:
            return None
        seconds = float(math.ceil(longest * HOLD_FACTOR))
        return Choice(
            seconds, f"{duration(seconds)}: the longest of {runs:,.0f} runs took {duration(longest)}, × {HOLD_FACTOR:g}"
        )

    # -- looking again ------------------------------------------------------------------------------

    def _refresh(self) -> None:
        evidence = self._evidence
        told = evidence.told
        if evidence.count != self._seen or (told and abs(told[-1][2] - self._looked_at) >= _FRESH_SECONDS):
            self._look()

    def _look(self) -> None:
        """Count new runs, and look up the quantiles that everything is made of."""
        evidence = self._evidence
        self._looked_at = evidence.told[-1][2] if evidence.told else self._looked_at
        evidence.take_in()
        self._seen = evidence.count
        self._runs = evidence.runs
        self._caution = 1.0 + (FIRST_CAUTION - 1.0) * max(0.0, 1.0 - self._runs / ENOUGH_RUNS)
        self._q99, self._is_halved = evidence.quantile(QUANTILE), False
        mean = 0.0
        if evidence.line is not None:
            self._sized_q99 = evidence.ratio(QUANTILE)
            mean = self._slow(evidence.mean_size) or 0.0
        made_of = ((self._q99 or 0.0) * self._caution, mean * self._caution)
        if not _is_near(made_of, self._stood) or evidence.at - self._stood_at >= _EDITION_SECONDS:
            self._edition += 1
            self._stood, self._stood_at = made_of, evidence.at

    def _stand(self, key: int | None, before: _Standing | None) -> _Standing:
        """The lease for a size, looked at again."""
        wanted, why = self._wanted(None if key is None else math.exp((key + 1) / _SIZES_A_LOG))
        level, at, most = wanted, self._evidence.at, self._bounds.most
        if before is not None and wanted < min(most, before.level * (1.0 + HYSTERESIS)):
            level = before.level
            if wanted < before.level * (1.0 - HYSTERESIS):
                level = _fallen(level, wanted, max(0.0, at - before.at) / 60.0)
        if before is None and len(self._standing) >= _MOST_SIZES:
            self._standing.clear()  # rare: every size is looked at again
        seconds = self._bounds.within(float(math.ceil(level - _DUST)))
        if level != wanted:
            why = msgspec.structs.replace(why, wanted=wanted)
        # Of what is over the bound it falls from there: no lease was ever longer.
        standing = self._standing[key] = _Standing(min(level, most), seconds, at, self._edition, why)
        return standing

    def _wanted(self, size: float | None) -> tuple[float, Why]:
        """Return the lease that the newest evidence alone would give."""
        estimate, slow = self._prior.estimate(size), self._slow(size)
        if slow is None:
            return self._unmeasured(estimate)
        caution, runs = self._caution, max(1, round(self._runs))
        doubt = (caution - 1.0) / (FIRST_CAUTION - 1.0)
        # Among many runs one outlier decides nothing, and need not be shown.
        doubted = self._evidence.doubted if doubt > 0.0 else None
        if estimate is None or estimate.seconds <= slow or doubt <= 0.0:
            return slow * caution * MARGIN, Why(MARGIN, slow, runs, caution=caution, doubted=doubted)
        blended = slow + doubt * (estimate.seconds - slow)
        why = Why(MARGIN, slow, runs, estimate.seconds, estimate.source, caution, doubted=doubted)
        return blended * caution * MARGIN, why

    def _slow(self, size: float | None) -> float | None:
        """Return the duration that 99 of 100 runs of that size do not exceed."""
        line = self._evidence.line
        if size is not None and line is not None and self._sized_q99 is not None:
            return line.at(size) * self._sized_q99
        return self._q99

    def _unmeasured(self, estimate: Estimate | None) -> tuple[float, Why]:
        if estimate is None:
            return self._default * FIRST_CAUTION, Why(1.0, default=self._default, caution=FIRST_CAUTION)
        wanted = estimate.seconds * FIRST_CAUTION * MARGIN
        return wanted, Why(MARGIN, None, 0, estimate.seconds, estimate.source, FIRST_CAUTION)


def _fallen(level: float, wanted: float, minutes: float) -> float:
    """A lease of `level` seconds after this many minutes in which `wanted` would have been enough."""
    far = FAR * wanted
    if level > far:
        return max(far, level * math.pow(FALL_FROM_FAR, minutes))
    return max(wanted, level * math.pow(FALL_A_MINUTE, minutes))


def _is_near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(abs(a - b) <= _EDITION_CHANGE * b for a, b in zip(one, other, strict=True))
