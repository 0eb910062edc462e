"""Statistics: the one place where a worker's figures are made.

By queue, task and outcome: how many messages, how long handlers ran and messages waited, deliveries, beats, how settles
ended, bytes. `note` is called for every batch that leaves the path and must cost about a microsecond a message: it
appends times to arrays, and puts them into buckets a thousand at a time.

Two readers. `take` hands out what changed since the last time, for `tallying.py`, which stores it. `total` is all of
it since the start, for `/metrics` and OpenTelemetry. At most `MOST_SERIES` series are kept in each; the rest is counted
under `OTHER`. Everything runs on the worker's loop.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.timing import tallied
from tenure.timing.tallied import DELIVERIES, MOST_SERIES, OTHER, Series, Sum
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
#: So many times are put into buckets together.
_FOLD_AT = 1_024


class _Live:
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
    """What one worker counted."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._live: dict[tuple[str, str, str], _Live] = {}
        self._total = Sum()

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], wall_offset: float) -> None:
        """Count a batch that left the path. `wall_offset`: the store's wall time minus our monotonic time."""
        queue, task, live = "", "", None
        size, leased = 0, 0.0
        for delivery, settlement in settled:
            message, lease, started, finished = delivery.message, delivery.lease, delivery.started, delivery.finished
            if (
                settlement is None or settlement.outcome is not _DELETED or type(delivery.verdict) is not Completed
                or message is None or not (sent_at := message.sent_at) or started is None or finished is None
                or lease.counters.deliveries > 1
            ):  # fmt: skip
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


def _outcome_of(delivery: Delivery, settlement: Settlement | None) -> str:
    """As `reporting.py` tells it: what was sealed is done, however its delete ended; a user's cancel is no loss."""
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
