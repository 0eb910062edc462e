"""Statistics: the one place where a worker's figures are made.

By queue, task and outcome: how many messages, how long handlers ran and messages waited, deliveries, beats, how settles
ended, bytes. `note` is called for every batch that leaves the path and must cost about a microsecond a message: it
appends numbers to lists, and puts them into buckets a thousand at a time.

Two readers. `take` hands out what changed since the last time, for `tallying.py`, which stores it. `total` is all of
it since the start, for `/metrics` and OpenTelemetry. At most `MOST_SERIES` series are kept in each; the rest is counted
under `OTHER`. Everything runs on the worker's loop.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat
from math import ceil, log
from operator import mul

from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.timing import tallied
from tenure.timing.tallied import BUCKETS_A_LOG, DELIVERIES, LEAST_SECONDS, MOST_SERIES, OTHER, Series, Sum
from tenure.verdict import Completed, Dead, Duplicate, Lost, Retried, Returned, Snoozed, Verdict

#: How a settled verdict is counted, and how its settle ends when nothing is wrong.
_USUAL: dict[type[Verdict], tuple[str, Outcome]] = {
    Completed: (tallied.COMPLETED, Outcome.DELETED),
    Retried: (tallied.RETRIED, Outcome.RETURNED),
    Snoozed: (tallied.SNOOZED, Outcome.RETURNED),
    Dead: (tallied.DEAD, Outcome.DEAD),
    Returned: (tallied.GIVEN_BACK, Outcome.RETURNED),
    Duplicate: (tallied.DUPLICATE, Outcome.DELETED),
    Lost: (tallied.LEASE_LOST, Outcome.TAKEN_OVER),
}
#: How settles of each outcome end when nothing else is said.
_ENDS: dict[str, Outcome] = {
    **dict(_USUAL.values()),
    tallied.LATE_SETTLE: Outcome.UNKNOWN,
    tallied.CANCELLED: Outcome.ALREADY_GONE,
}
#: What a sweep or a retirement did.
_SWEPT = (EventKind.REQUEUE, EventKind.MOVE_TO_DLQ)
#: Counted among what is unusual: nothing was asked of the broker.
_UNSETTLED = "unsettled"
#: So many times are put into buckets together.
_FOLD_AT = 1_024


class _Live:
    """One series while it is counted: times are lists until they are folded."""

    __slots__ = ("count", "durations", "leased", "series", "size", "unusual", "usual", "waits")

    def __init__(self, series: Series, usual: Outcome | None) -> None:
        self.series = series
        #: How settles of this outcome end when nothing is wrong; others are in `unusual`.
        self.usual = usual
        self.count = 0
        self.size = 0
        self.leased = 0.0
        self.durations: list[float] = []
        self.waits: list[float] = []
        #: Deliveries after the first one, and settles that ended otherwise.
        self.unusual: Counter[int | str] = Counter()

    def fold(self) -> None:
        """Put what was counted since the last time into the series."""
        series, unusual = self.series, self.unusual
        series.count += self.count
        series.size += self.size
        series.leased += self.leased
        if self.durations:
            series.runs += len(self.durations)
            series.seconds += sum(self.durations)
            _put(series.durations, self.durations)
        if self.waits:
            series.waited += sum(self.waits)
            _put(series.waits, self.waits)
        if self.usual is not None:
            ends = {outcome.value: unusual[outcome.value] for outcome in Outcome if outcome.value in unusual}
            usual = self.count - unusual[_UNSETTLED] - sum(ends.values())
            tallied.add_counts(series.settled, ends | ({self.usual.value: usual} if usual else {}))
            later = [unusual[number] for number in range(2, DELIVERIES + 1)]
            _count_deliveries(series.deliveries, [self.count - sum(later), *later])
        self.count = self.size = 0
        self.leased = 0.0
        self.durations, self.waits, self.unusual = [], [], Counter()


class Statistics:
    """What one worker counted."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._live: dict[tuple[str, str, str], _Live] = {}
        self._total = Sum()

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], wall_offset: float) -> None:
        """Count a batch that left the path. `wall_offset`: the store's wall time minus our monotonic time."""
        lives = self._live
        queue = task = outcome = None
        live: _Live | None = None
        for delivery, settlement in settled:
            message, lease, verdict = delivery.message, delivery.lease, delivery.verdict
            counted, usual = _USUAL[type(verdict)] if verdict is not None else (tallied.LEASE_LOST, Outcome.TAKEN_OVER)
            if settlement is None or settlement.outcome is not usual:
                counted = _unusual_outcome(delivery, settlement, counted)
            name = "" if message is None else message.task
            if live is None or counted is not outcome or name != task or delivery.queue != queue:
                queue, task, outcome = delivery.queue, name, counted
                live = lives.get((queue, task, outcome)) or self._begin(queue, task, outcome)
            live.count += 1
            live.size += len(lease.envelope)
            deliveries = lease.counters.deliveries
            started = delivery.started
            if started is not None and delivery.finished is not None:
                durations = live.durations
                durations.append(delivery.finished - started)
                live.leased += lease.seconds
                if deliveries <= 1 and message is not None and message.sent_at:
                    live.waits.append(wall_offset + started - message.sent_at)
                if len(durations) >= _FOLD_AT:
                    live.fold()
            if deliveries > 1:
                live.unusual[min(deliveries, DELIVERIES)] += 1
            if settlement is None:
                live.unusual[_UNSETTLED] += 1
            elif settlement.outcome is not live.usual:
                live.unusual[settlement.outcome.value] += 1

    def beat(self, names: Sequence[tuple[str, str]]) -> None:
        """Leases were renewed; the queue and task of each."""
        for (queue, task), number in Counter(names).items():
            self._of(queue, task, tallied.RUNNING).series.beats += number

    def note_events(self, events: Sequence[Event]) -> None:
        """Count what sweeps and retirements returned or put with the dead letters."""
        for event in events:
            if event.kind in _SWEPT and event.queue is not None:
                self._of(event.queue, "", event.kind.value).series.count += int(event.data.get("count", 0))

    def take(self) -> list[Series]:
        """What was counted since the last time; empty: nothing."""
        if not self._live:
            return []
        lives, self._live = self._live, {}
        for live in lives.values():
            live.fold()
        change = [live.series for live in lives.values()]
        self._total.add(change)
        return change

    def total(self) -> Mapping[tuple[str, str, str], Series]:
        """Everything since the start, by queue, task and outcome, but for what changed since the last `take`."""
        return self._total.series

    def _of(self, queue: str, task: str, outcome: str) -> _Live:
        return self._live.get((queue, task, outcome)) or self._begin(queue, task, outcome)

    def _begin(self, queue: str, task: str, outcome: str) -> _Live:
        if len(self._live) >= MOST_SERIES:
            queue = task = OTHER
        key = (queue, task, outcome)
        found = self._live.get(key)
        if found is None:
            found = self._live[key] = _Live(Series(queue, task, outcome), _ENDS.get(outcome))
        return found


def _unusual_outcome(delivery: Delivery, settlement: Settlement | None, counted: str) -> str:
    """As `reporting.py` tells it: what was sealed is done, however its delete ended; a user's cancel is no loss."""
    if settlement is not None and (settlement.took_effect or delivery.sealed):
        return counted
    if delivery.cancelled_by is not None:
        return tallied.CANCELLED
    return tallied.LEASE_LOST if settlement is None else tallied.LATE_SETTLE


def _put(buckets: dict[int, int], seconds: list[float]) -> None:
    """Count times by bucket, as `tallied.bucket_of` does; all of it runs in C."""
    if min(seconds) < LEAST_SECONDS:
        seconds = [max(one, LEAST_SECONDS) for one in seconds]
    found = Counter(map(ceil, map(mul, map(log, seconds), repeat(BUCKETS_A_LOG))))
    if buckets:
        tallied.add_counts(buckets, found)
    else:
        buckets.update(found)


def _count_deliveries(deliveries: list[int], more: list[int]) -> None:
    while more and not more[-1]:
        more.pop()
    deliveries += [0] * (len(more) - len(deliveries))
    for place, number in enumerate(more):
        deliveries[place] += number
