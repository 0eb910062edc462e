"""Read what all workers counted: rates, outcomes, durations and waits of every queue and task, and their course.

    reader = TallyReader(app.broker, app.state)
    view = await reader.read(600.0)           # the last ten minutes; asked again, it reads only what is new
    for one in view.queues(60.0): ...         # `Figures` of each queue over the last minute of it
    for one in view.tasks(60.0): ...          # the same for each queue and task
    view.total(60.0)                          # everything together
    view.points(30, queue="mail-tasks")       # time series: one `Point` for each 30 s, for plots and sparklines

For `tenure top` and the server: figures are made by `runtime/background/statistics.py` and added up
here, and what shows them adds no rule of its own. Reading changes nothing. Up to an hour it reads rows of ten
seconds, up to a day rows of minutes, beyond that rows of hours, and shorter ones for what is not added up yet.

A view ends at the last bucket that is complete (`TallyView.until`), 0 to 10 s before now. A process stores its figures
every `TallyView.store_seconds`: a window that is not several times as long jumps.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from tenure.broker import Broker
from tenure.client.figures import Figures, Point, Quantiles, figures_of
from tenure.rules import queue_pattern
from tenure.state import State
from tenure.tally import HOUR, MINUTE, TEN_SECONDS, Tally
from tenure.timing import tallied
from tenure.timing.tallied import FACTS, OTHER, Series, Sum, TallyRow

__all__ = ["OTHER", "Bucket", "Depths", "Figures", "Point", "Quantiles", "TallyReader", "TallyView"]

#: Up to this many seconds back, rows of this step are kept for sure.
_REACH = {TEN_SECONDS: 3_600.0, MINUTE: 86_400.0}
#: Sums over all processes may name more series than one process: a thousand queues of several workers.
_MOST_SUMMED = 20_000
#: Rows may be stored late, after an outage of their process: so much is read again each time.
_LATE_SECONDS = 120
#: A depth is good for this long: it is stored when it changed, and else once a minute.
_DEPTH_SECONDS = 90.0

_Key = tuple[int, str, int]
_Wanted = Callable[[str], bool] | None


class Bucket(msgspec.Struct, frozen=True):
    """The counts of all processes in one bucket."""

    at: int
    step: int
    series: list[Series]
    #: What happened to processes, by kind of event.
    facts: dict[str, int] = {}


class Depths(msgspec.Struct, frozen=True):
    """How many messages lay in each queue (ready, delayed, leased) at one moment."""

    at: float
    depths: dict[str, int]
    #: In all other queues together.
    rest: int
    #: Those of them that ran. None: not known.
    running: dict[str, int] | None = None
    running_rest: int = 0

    def of(self, wanted: _Wanted) -> int | None:
        """Messages in these queues. None: they are among the rest."""
        return _sum_of(self.depths, self.rest, wanted)

    def running_of(self, wanted: _Wanted) -> int | None:
        """Messages of these queues that ran. None: not known."""
        return None if self.running is None else _sum_of(self.running, self.running_rest, wanted)


class TallyView(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one stretch of time, read once; everything else is computed in memory."""

    #: Wall times by the store's clock: multiples of the longest step in it.
    since: int
    until: int
    #: How often a process stores its figures.
    store_seconds: float
    #: Whether depths are counted rather than guessed. If not, every `rate_in` and `depth` is None.
    has_depths: bool
    #: Oldest first, without empty ones.
    buckets: list[Bucket]
    depths: list[Depths]

    def total(
        self, seconds: float | None = None, *, queues: Sequence[str] | None = None, task: str | None = None
    ) -> Figures:
        """Everything together, or these queues (names and patterns), or a task of them, over the last `seconds`."""
        begin, wanted = self._begin(seconds), _wanted(queues)
        change = None if task is not None else self._depth_change(begin, self.until, wanted)
        series = [one for one in self._series(begin, wanted) if task is None or one.task == task]
        return figures_of(series, self.until - begin, task=task, depth_change=change)

    def queues(self, seconds: float | None = None, *, queues: Sequence[str] | None = None) -> list[Figures]:
        """Figures of each queue, by name, over the last `seconds`: those that something happened in, or that hold any.

        `queues`: only these, names and patterns.
        """
        begin, wanted = self._begin(seconds), _wanted(queues)
        by_queue: dict[str, list[Series]] = {}
        for one in self._series(begin, wanted):
            by_queue.setdefault(one.queue, []).append(one)
        last = self._depths_at(self.until)
        for name in () if last is None else last.depths:
            if wanted is None or wanted(name):
                by_queue.setdefault(name, [])
        length = self.until - begin
        return [
            figures_of(
                by_queue[name], length, queue=name, depth_change=self._depth_change(begin, self.until, name.__eq__)
            )
            for name in sorted(by_queue)
        ]

    def tasks(self, seconds: float | None = None, *, queues: Sequence[str] | None = None) -> list[Figures]:
        """Figures of each queue and task of which something was counted, over the last `seconds` of the view."""
        begin = self._begin(seconds)
        by_task: dict[tuple[str, str], list[Series]] = {}
        for one in self._series(begin, _wanted(queues)):
            by_task.setdefault((one.queue, one.task), []).append(one)
        return [
            figures_of(by_task[queue, task], self.until - begin, queue=queue, task=task)
            for queue, task in sorted(by_task)
        ]

    def facts(self, seconds: float | None = None) -> dict[str, int]:
        """What happened to processes over the last `seconds`, by kind of event: heartbeats that failed, deaths."""
        begin, counts = self._begin(seconds), dict[str, int]()
        for bucket in self.buckets:
            if begin <= bucket.at:
                tallied.add_counts(counts, bucket.facts)
        return counts

    def points(
        self, step: int, *, queue: str | None = None, queues: Sequence[str] | None = None, task: str | None = None
    ) -> list[Point]:
        """Return one point per `step` seconds, oldest first, also where nothing was counted; `queue` may be a pattern.

        `queues`: instead of one, all of these together.

        `step` is rounded up to a multiple of the longest step of the rows in this view.
        """
        least = max((bucket.step for bucket in self.buckets), default=TEN_SECONDS)
        step = max(least, -(-step // least) * least)
        wanted = _wanted(queues if queue is None else [queue])
        first = self.until - (self.until - self.since) // step * step
        of_step: dict[int, list[Series]] = {}
        for bucket in self.buckets:
            if bucket.at >= first:
                of_step.setdefault((bucket.at - first) // step, []).extend(_matching(bucket.series, wanted, task))
        return [
            self._point(of_step.get(place, ()), first + place * step, step, queue, task, wanted)
            for place in range((self.until - first) // step)
        ]

    def _point(
        self, series: Iterable[Series], at: int, step: int, queue: str | None, task: str | None, wanted: _Wanted
    ) -> Point:
        change = None if task is not None else self._depth_change(at, at + step, wanted)
        figures = figures_of(series, step, queue=queue, task=task, depth_change=change)
        held = None if task is not None else self._depths_at(at + step)
        if held is None:
            return Point(at=at, figures=figures)
        return Point(at=at, figures=figures, depth=held.of(wanted), running=held.running_of(wanted))

    def _begin(self, seconds: float | None) -> int:
        return self.since if seconds is None else max(self.since, int(self.until - seconds))

    def _series(self, begin: int, wanted: _Wanted) -> Iterable[Series]:
        for bucket in self.buckets:
            if begin <= bucket.at:
                yield from _matching(bucket.series, wanted, None)

    def _depth_change(self, begin: int, end: int, wanted: _Wanted) -> int | None:
        before, after = self._depth_at(begin, wanted), self._depth_at(end, wanted)
        return None if before is None or after is None else after - before

    def _depth_at(self, moment: float, wanted: _Wanted) -> int | None:
        found = self._depths_at(moment)
        return None if found is None else found.of(wanted)

    def _depths_at(self, moment: float) -> Depths | None:
        """Return the depths last stored by then, if that is not too long ago."""
        found = None
        for one in self.depths if self.has_depths else ():
            if one.at > moment:
                break
            found = one
        return None if found is None or moment - found.at > _DEPTH_SECONDS else found


class TallyReader:
    """Reads the tallies of one place. Asked again, it reads only what is new. One read at a time."""

    def __init__(self, broker: Broker, state: State) -> None:
        """Read from this broker and state, when asked."""
        self._state = state
        self._has_depths = broker.traits.depth_is_exact
        #: How often a process stores its figures.
        self.store_seconds = tallied.store_seconds(broker.traits.snapshot_seconds)
        self._rows: dict[int, dict[_Key, TallyRow]] = {TEN_SECONDS: {}, MINUTE: {}, HOUR: {}}
        #: From where to where each step was read.
        self._read: dict[int, tuple[int, int]] = {}

    async def read(self, seconds: float, *, until: float | None = None) -> TallyView:
        """The last `seconds` before `until` (wall time by the store's clock; None: now)."""
        now = self._state.wall()
        end = int(min(now, now if until is None else until) // TEN_SECONDS) * TEN_SECONDS
        longest = next((step for step, reach in _REACH.items() if now - end + seconds <= reach), HOUR)
        begin = place = int((end - seconds) // longest) * longest
        buckets: list[Bucket] = []
        depths: list[Depths] = []
        for step in (HOUR, MINUTE, TEN_SECONDS):
            if step > longest:
                continue
            # What queues held at the start was stored a little before.
            rows = await self._refresh(step, place - int(_DEPTH_SECONDS), end)
            depths += _depths(rows.values())
            found = _buckets(step, place, end, rows)
            buckets += found
            if found:  # what comes after it is not added up yet
                place = found[-1].at + step
        depths.sort(key=lambda row: row.at)
        return TallyView(
            since=begin,
            until=end,
            store_seconds=self.store_seconds,
            has_depths=self._has_depths,
            buckets=buckets,
            depths=depths,
        )

    async def _refresh(self, step: int, begin: int, end: int) -> dict[_Key, TallyRow]:
        """Rows of this step in order; those that were read before come from memory."""
        rows = self._rows[step]
        known_from, known_until = self._read.get(step, (end, begin))
        since = begin if begin < known_from else max(begin, known_until - max(step, _LATE_SECONDS))
        if since < end:
            for tally in await self._state.journal.tallies(step, float(since), float(end)):
                row = tallied.decode(tally.data)
                if row is not None:
                    rows[_key(tally)] = row
        for key in [key for key in rows if key[0] < begin]:
            del rows[key]
        self._read[step] = (begin, end)
        return {key: rows[key] for key in sorted(rows) if key[0] < end}


def _matching(series: Iterable[Series], wanted: _Wanted, task: str | None) -> list[Series]:
    return [one for one in series if (wanted is None or wanted(one.queue)) and (task is None or one.task == task)]


def _wanted(queues: Sequence[str] | None) -> _Wanted:
    return None if queues is None else lambda queue: queue_pattern.matches(queue, queues)


def _buckets(step: int, begin: int, end: int, rows: dict[_Key, TallyRow]) -> list[Bucket]:
    sums: dict[int, Sum] = {}
    for (at, _, _), row in rows.items():
        if begin <= at and at + step <= end and row.series:
            sums.setdefault(at, Sum(_MOST_SUMMED)).add(row.series)
    return [_bucket(at, step, sums[at].series.values()) for at in sorted(sums)]


def _bucket(at: int, step: int, series: Iterable[Series]) -> Bucket:
    every = list(series)
    facts = {one.outcome: one.count for one in every if one.queue == FACTS}
    return Bucket(at, step, [one for one in every if one.queue != FACTS] if facts else every, facts)


def _depths(rows: Iterable[TallyRow]) -> list[Depths]:
    return [
        Depths(row.depths_at, row.depths, row.depth_rest, row.running, row.running_rest)
        for row in rows
        if row.depths_at is not None
    ]


def _sum_of(by_queue: dict[str, int], rest: int, wanted: _Wanted) -> int | None:
    """The sum of these queues. None: they may be among the rest."""
    if wanted is None:
        return sum(by_queue.values()) + rest
    named = sum(number for queue, number in by_queue.items() if wanted(queue))
    return named if named or not rest else None


def _key(tally: Tally) -> _Key:
    return (tally.bucket, tally.nonce, tally.number)
