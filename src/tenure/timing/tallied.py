"""The format of a tally: the figures that one process counted, and how they are written, read and added up.

One `Series` counts what became of messages of one queue and task with one outcome. Durations and waits are kept in
buckets, 16 from each power of two to the next: a quantile is right within 4 %, and two series are added by adding their
buckets. The number of a bucket is the upper half of the upper half of a double (its exponent and the first four bits of
its fraction), so a time is put into its bucket without computing a logarithm. Rows are msgpack of structs that only
grow: a reader ignores fields that it does not know, and missing fields have a default.

Pure. Written by `runtime/background/statistics.py` and `runtime/background/rollup.py`, stored as `tally.Tally`, read by
`client/tallies.py`.
"""

import struct
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

#: The version of a row. It rises only if old readers would misread it.
VERSION = 1
#: This many series are kept of one process in one row, or of all processes in one sum. The rest is added to `OTHER`.
MOST_SERIES = 200
#: The queue and task of what is beyond `MOST_SERIES`. A queue's name never contains `*`.
OTHER = "*other"
#: The queue of what is counted of processes and not of messages: the outcome is the kind of an event. Readers of
#: messages leave it out.
FACTS = "*facts"
#: The nonce of rows that hold the depths of queues.
DEPTH_NONCE = "depth"
#: This many queues have a depth of their own in one row, the deepest ones; the rest is one sum.
MOST_DEPTHS = 200
#: A row is split from about this many bytes on: some stores limit the size of a value.
ROW_BYTES = 32_768
#: Deliveries are counted as 1, 2, 3, 4, and 5 or more.
DELIVERIES = 5

#: Shorter times are counted as this: a microsecond.
LEAST_SECONDS = 1e-6
_DUST = 1e-9
#: Where the number of its bucket is, of the four pairs of bytes of a double.
_TOP = 3 if sys.byteorder == "little" else 0

# The outcomes. They are the words of events (`event.EventKind`), so that one word means one thing everywhere.
COMPLETED, RETRIED, SNOOZED, DEAD, DUPLICATE = "completed", "retried", "snoozed", "dead", "duplicate"
GIVEN_BACK, LEASE_LOST, LATE_SETTLE, CANCELLED = "given_back", "lease_lost", "late_settle", "cancelled"
#: By a sweep or a retirement: returned to its queue, put with the dead letters. The task is not known: "".
REQUEUE, MOVE_TO_DLQ = "requeue", "move_to_dlq"
#: What is counted while messages run (beats), before there is an outcome.
RUNNING = ""

#: With these a message leaves its queue for good, or for the dead letters.
OUT = frozenset({COMPLETED, DEAD, DUPLICATE, MOVE_TO_DLQ})
#: With these a handler ended by itself: completed, or in error.
FAILED = frozenset({RETRIED, DEAD})


def store_seconds(snapshot_seconds: float) -> float:
    """Return how often a process stores its figures: every 5 s, or 60 s in the cloud."""
    return 5.0 if snapshot_seconds <= 1.0 else 60.0


class Series(msgspec.Struct, omit_defaults=True):
    """The counts of one queue, task and outcome."""

    queue: str = msgspec.field(name="q")
    task: str = msgspec.field(name="t")
    outcome: str = msgspec.field(name="o")
    #: Messages.
    count: int = msgspec.field(name="n", default=0)
    #: Messages whose handler ran, and for how many seconds in all.
    runs: int = msgspec.field(name="r", default=0)
    seconds: float = msgspec.field(name="s", default=0.0)
    #: How long each of these runs took, by bucket.
    durations: dict[int, int] = msgspec.field(name="d", default_factory=dict)
    #: The lease that each of these runs was lent for, in seconds, added up.
    leased: float = msgspec.field(name="l", default=0.0)
    #: Seconds from the send to the start of a first delivery: added up, and by bucket.
    waited: float = msgspec.field(name="w", default=0.0)
    waits: dict[int, int] = msgspec.field(name="y", default_factory=dict)
    #: Messages by the number of their delivery: first, second … fifth or later; zeros at the end are left out.
    deliveries: list[int] = msgspec.field(name="e", default_factory=list)
    #: Leases that were renewed.
    beats: int = msgspec.field(name="b", default=0)
    #: Bytes of envelopes.
    size: int = msgspec.field(name="z", default=0)
    #: How settles ended, by `settlement.Outcome`.
    settled: dict[str, int] = msgspec.field(name="x", default_factory=dict)

    def add(self, other: "Series") -> None:
        """Count what the other one counted too."""
        self.count += other.count
        self.runs += other.runs
        self.seconds += other.seconds
        self.leased += other.leased
        self.waited += other.waited
        self.beats += other.beats
        self.size += other.size
        add_counts(self.durations, other.durations)
        add_counts(self.waits, other.waits)
        add_counts(self.settled, other.settled)
        if len(self.deliveries) < len(other.deliveries):
            self.deliveries += [0] * (len(other.deliveries) - len(self.deliveries))
        for place, number in enumerate(other.deliveries):
            self.deliveries[place] += number


class TallyRow(msgspec.Struct, omit_defaults=True):
    """What one tally holds: figures, or the depths of queues at one moment."""

    version: int = msgspec.field(name="v")
    series: list[Series] = msgspec.field(name="s", default_factory=list)
    #: The store's wall time at which depths were read. None: this row has none.
    depths_at: float | None = msgspec.field(name="a", default=None)
    #: Messages that wait or run (ready, delayed, leased), by queue; queues without any are left out.
    depths: dict[str, int] = msgspec.field(name="d", default_factory=dict)
    #: The sum of all queues beyond `MOST_DEPTHS`.
    depth_rest: int = msgspec.field(name="f", default=0)
    #: Of them, those that ran (leased), by queue; queues without any are left out. None: an older Tenure wrote the row.
    running: dict[str, int] | None = msgspec.field(name="r", default=None)
    #: The sum of the queues that are not named in `depths`.
    running_rest: int = msgspec.field(name="u", default=0)


class _Packed(msgspec.Struct, omit_defaults=True):
    """A row whose series are written already."""

    version: int = msgspec.field(name="v")
    series: list[msgspec.Raw] = msgspec.field(name="s", default_factory=list)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TallyRow)


def encode(series: Iterable[Series]) -> list[bytes]:
    """Series as the data of rows, each of about `ROW_BYTES` at most."""
    rows: list[bytes] = []
    some: list[msgspec.Raw] = []
    size = 0
    for one in series:
        raw = _encoder.encode(one)
        if some and size + len(raw) > ROW_BYTES:
            rows.append(_encoder.encode(_Packed(VERSION, some)))
            some, size = [], 0
        some.append(msgspec.Raw(raw))
        size += len(raw)
    if some:
        rows.append(_encoder.encode(_Packed(VERSION, some)))
    return rows


def encode_depths(at: float, depths: Mapping[str, int], running: Mapping[str, int] | None = None) -> bytes:
    """The depths of queues as the data of a row: the deepest ones, and the sum of the rest.

    `running`: how many of them run. None: not known.
    """
    deepest = sorted(((queue, depth) for queue, depth in depths.items() if depth), key=lambda pair: -pair[1])
    rest = sum(depth for _, depth in deepest[MOST_DEPTHS:])
    named = dict(deepest[:MOST_DEPTHS])
    row = TallyRow(VERSION, depths_at=at, depths=named, depth_rest=rest)
    if running is not None:
        row.running = {queue: number for queue, number in running.items() if number and queue in named}
        row.running_rest = sum(number for queue, number in running.items() if queue not in named)
    return _encoder.encode(row)


def encode_row(row: TallyRow) -> bytes:
    """A row as it is."""
    return _encoder.encode(row)


def empty() -> bytes:
    """The data of a row that says nothing: it replaces one that is not needed any more."""
    return _encoder.encode(TallyRow(VERSION))


def decode(data: bytes) -> TallyRow | None:
    """What a row says. None: a newer Tenure wrote it in a way that we cannot read."""
    try:
        row = _decoder.decode(data)
    except msgspec.MsgspecError:
        return None
    return row if row.version <= VERSION else None


class Sum:
    """Series added up by queue, task and outcome, at most `most` of them and one for each outcome of the rest."""

    def __init__(self, most: int = MOST_SERIES) -> None:
        """Begin with nothing."""
        self._most = most
        self.series: dict[tuple[str, str, str], Series] = {}

    def add(self, series: Iterable[Series]) -> None:
        """Count these too. They stay as they are."""
        for one in series:
            self.of(one.queue, one.task, one.outcome).add(one)

    def of(self, queue: str, task: str, outcome: str) -> Series:
        """Return the series of a queue, task and outcome; if there are too many, the one for all others."""
        found = self.series.get((queue, task, outcome))
        if found is None:
            if len(self.series) >= self._most:
                queue = task = OTHER
                found = self.series.get((queue, task, outcome))
            if found is None:
                found = self.series[queue, task, outcome] = Series(queue, task, outcome)
        return found

    def largest(self, most: int = MOST_SERIES) -> list[Series]:
        """Keep the series that count the most messages, sorted by name; add the rest to `OTHER`."""
        rest = sorted(self.series.values(), key=lambda one: (-one.count, one.queue, one.task, one.outcome))
        found = Sum(most)
        found.add(rest)
        return [found.series[key] for key in sorted(found.series)]


def add_counts(counts: dict[str, int] | dict[int, int], more: Mapping[str, int] | Mapping[int, int]) -> None:
    """Add counts by name or bucket."""
    for key, number in more.items():
        counts[key] = counts.get(key, 0) + number  # type: ignore[index, arg-type] # both of one kind


def count_times(buckets: dict[int, int], seconds: "array[float]") -> None:
    """Count times by their buckets. All of it runs in C: it is done for every message."""
    if min(seconds) < LEAST_SECONDS:
        seconds = array("d", [max(one, LEAST_SECONDS) for one in seconds])
    with memoryview(seconds) as view:
        add_counts(buckets, Counter(view.cast("B").cast("H")[_TOP::4]))


def bucket_of(seconds: float) -> int:
    """The bucket in which this many seconds are counted."""
    (bucket,) = Counter(memoryview(array("d", [max(seconds, LEAST_SECONDS)])).cast("B").cast("H")[_TOP::4])
    return bucket


def lower_border(bucket: int) -> float:
    """The smallest number of seconds that is counted in this bucket. The one of the next bucket is its upper border."""
    (seconds,) = struct.unpack(">d", struct.pack(">Q", bucket << 48))
    return float(seconds)


def quantile(buckets: Mapping[int, int], q: float) -> float | None:
    """The seconds that a part `q` of all stays within, right within 4 %. None: there are none."""
    total = sum(buckets.values())
    if not total:
        return None
    rank, below, key = (q - _DUST) * total, 0, 0
    for key in sorted(buckets):
        below += buckets[key]
        if below >= rank:
            break
    return (lower_border(key) + lower_border(key + 1)) / 2.0
