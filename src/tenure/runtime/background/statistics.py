"""Statistics: the one place where a worker's figures are made.

By queue, task and outcome: how many messages, how long handlers ran and messages waited, deliveries, beats, how settles
ended, bytes. `note` is called for every batch that leaves the path and must cost about a microsecond a message: it
appends times to arrays, and puts them into buckets a thousand at a time.

Two readers. `take` hands out what changed since the last time, for `background/tallying.py`, which stores it. `series`
is all of it since the start, for those who scrape a process (`background/worker_metrics.py`). At most `MOST_SERIES`
series are kept in one change and `MOST_TOTAL` in all; the rest is counted under `OTHER`. Facts that are of no queue's
outcome are counted in `facts` (`work_counts.py`). Everything runs on the worker's loop.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tenure.event import Event, EventKind
from tenure.runtime.background.work_counts import WorkCounts
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.timing import tallied
from tenure.timing.tallied import DELIVERIES, FACTS, MOST_SERIES, OTHER, Series, Sum
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
_DELETED = Outcome.DELETED
#: Counted among what is unusual: nothing was asked of the broker.
_UNSETTLED = "unsettled"
#: This many times are put into buckets together.
_FOLD_AT = 1_024
#: Series that are kept of one process since its start.
MOST_TOTAL = 2_000
#: The reason of a message that came again while an earlier run of it goes on here (`path/admission.py`).
RUNNING_HERE = "running_here"


class _OpenSeries:
    """One series while it is counted: times are kept as they are until they are folded."""

    __slots__ = ("durations", "idle", "leased", "series", "size", "unusual", "usual", "waits")

    def __init__(self, series: Series, usual: Outcome | None) -> None:
        self.series = series
        #: How settles of this outcome end when nothing is wrong; others are in `unusual`.
        self.usual = usual
        #: Messages whose handler did not run; the others are as many as there are durations.
        self.idle = 0
        self.size = 0
        self.leased = 0.0
        self.durations = array("d")
        self.waits = array("d")
        #: Deliveries after the first one, and settles that ended otherwise.
        self.unusual: Counter[int | str] = Counter()

    def add(self, size: int, leased: float) -> None:
        """Count what usual runs had, beside their times."""
        self.size += size
        self.leased += leased
        if len(self.durations) >= _FOLD_AT:
            self.fold()

    def fold(self) -> None:
        """Put what was counted since the last time into the series."""
        series, unusual = self.series, self.unusual
        count = self.idle + len(self.durations)
        series.count += count
        series.size += self.size
        series.leased += self.leased
        if self.durations:
            series.runs += len(self.durations)
            series.seconds += sum(self.durations)
            tallied.count_times(series.durations, self.durations)
        if self.waits:
            series.waited += sum(self.waits)
            tallied.count_times(series.waits, self.waits)
        if self.usual is not None:
            ends = {outcome.value: unusual[outcome.value] for outcome in Outcome if outcome.value in unusual}
            usual = count - unusual[_UNSETTLED] - sum(ends.values())
            tallied.add_counts(series.settled, ends | ({self.usual.value: usual} if usual else {}))
            later = [unusual[number] for number in range(2, DELIVERIES + 1)]
            _count_deliveries(series.deliveries, [count - sum(later), *later])
        self.idle = self.size = 0
        self.leased = 0.0
        self.durations, self.waits, self.unusual = array("d"), array("d"), Counter()


class Statistics:
    """The counts of one worker."""

    def __init__(self) -> None:
        """Start with zero counts."""
        self._live: dict[tuple[str, str, str], _OpenSeries] = {}
        self._total = Sum(MOST_TOTAL)
        self.facts = WorkCounts()
        #: What happened to processes since the last `take`, by kind of event.
        self._told: Counter[str] = Counter()

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], wall_offset: float) -> None:
        """Count a batch that left the path. `wall_offset`: the store's wall time minus our monotonic time."""
        queue, task, live = "", "", None
        size, leased = 0, 0.0
        for delivery, settlement in settled:
            message, lease, started, finished = delivery.message, delivery.lease, delivery.started, delivery.finished
            if (
                settlement is None
                or settlement.outcome is not _DELETED
                or type(delivery.verdict) is not Completed
                or message is None
                or not (sent_at := message.sent_at)
                or started is None
                or finished is None
                or lease.counters.deliveries > 1
            ):
                self._note_unusual(delivery, settlement, wall_offset)
                continue
            # Nearly all of them: completed at the first delivery.
            if live is None or message.task != task or lease.queue != queue:
                if live is not None:
                    live.add(size, leased)
                queue, task, size, leased = lease.queue, message.task, 0, 0.0
                live = self._of(queue, task, tallied.COMPLETED)
            size += len(lease.envelope)
            leased += lease.seconds
            live.durations.append(finished - started)
            live.waits.append(wall_offset + started - sent_at)
        if live is not None:
            live.add(size, leased)

    def _note_unusual(self, delivery: Delivery, settlement: Settlement | None, wall_offset: float) -> None:
        message, lease, started = delivery.message, delivery.lease, delivery.started
        live = self._of(lease.queue, "" if message is None else message.task, _outcome_of(delivery, settlement))
        if len(live.durations) >= _FOLD_AT:
            live.fold()
        live.size += len(lease.envelope)
        deliveries = lease.counters.deliveries
        if started is None or delivery.finished is None:
            live.idle += 1
        else:
            live.durations.append(delivery.finished - started)
            live.leased += lease.seconds
            if deliveries <= 1 and message is not None and message.sent_at:
                live.waits.append(wall_offset + started - message.sent_at)
        if deliveries > 1:
            live.unusual[min(deliveries, DELIVERIES)] += 1
        if settlement is None:
            live.unusual[_UNSETTLED] += 1
        elif settlement.outcome is not live.usual:
            live.unusual[settlement.outcome.value] += 1
        verdict = delivery.verdict
        if type(verdict) is Returned and verdict.reason.code == RUNNING_HERE:
            self.facts.running_here[lease.queue, "" if message is None else message.task] += 1

    def beat(self, names: Sequence[tuple[str, str]]) -> None:
        """Leases were renewed; the queue and task of each."""
        for (queue, task), number in Counter(names).items():
            self._of(queue, task, tallied.RUNNING).series.beats += number

    def note_events(self, events: Sequence[Event]) -> None:
        """Count what sweeps and retirements returned or put with the dead letters."""
        for event in events:
            if event.kind in _SWEPT and event.queue is not None:
                self._of(event.queue, "", event.kind.value).series.count += int(event.data.get("count", 0))
            elif event.kind is EventKind.OWNER_RETIRED and not event.data.get("left"):
                self.note_fact(event.kind)
            self.facts.note_event(event)

    def note_fact(self, kind: EventKind, number: int = 1) -> None:
        """Count what happened to processes and not to messages: heartbeats that failed, deaths."""
        self._told[kind.value] += number

    def take(self) -> list[Series]:
        """The counts since the last time; may be empty."""
        told, self._told = self._told, Counter()
        facts = [Series(FACTS, "", kind, number) for kind, number in told.items()]
        if not self._live:
            return facts
        lives, self._live = self._live, {}
        for live in lives.values():
            live.fold()
        change = [live.series for live in lives.values()]
        self._total.add(change)
        return change + facts

    def total(self) -> Mapping[tuple[str, str, str], Series]:
        """Return all counts since the start, by queue, task and outcome, without changes since the last `take`."""
        return self._total.series

    def series(self) -> Iterator[Series]:
        """All counts since the start, up to now: two series may have the same queue, task and outcome."""
        yield from self._total.series.values()
        for live in self._live.values():
            live.fold()
            yield live.series

    def _of(self, queue: str, task: str, outcome: str) -> _OpenSeries:
        return self._live.get((queue, task, outcome)) or self._begin(queue, task, outcome)

    def _begin(self, queue: str, task: str, outcome: str) -> _OpenSeries:
        if len(self._live) >= MOST_SERIES:
            queue = task = OTHER
        key = (queue, task, outcome)
        found = self._live.get(key)
        if found is None:
            found = self._live[key] = _OpenSeries(Series(queue, task, outcome), _ENDS.get(outcome))
        return found


def _outcome_of(delivery: Delivery, settlement: Settlement | None) -> str:
    """A sealed message is done, however its delete ended; a user's cancel is not a loss (as in `path/reporting.py`)."""
    if settlement is not None and (settlement.took_effect or delivery.sealed):
        verdict = delivery.verdict
        return tallied.LEASE_LOST if verdict is None else _USUAL[type(verdict)][0]
    if delivery.cancelled_by is not None:
        return tallied.CANCELLED
    return tallied.LEASE_LOST if settlement is None else tallied.LATE_SETTLE


def _count_deliveries(deliveries: list[int], more: list[int]) -> None:
    while more and not more[-1]:
        more.pop()
    deliveries += [0] * (len(more) - len(deliveries))
    for place, number in enumerate(more):
        deliveries[place] += number
