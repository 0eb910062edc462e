"""A survey: figures of every queue and task within a window of time, from the journal.

It reads the newest events, back to a moment and at most this many of them, and the samples of each task. Looking
changes nothing and costs a bounded number of reads. What a worker did is in events that name queue and task. Events
of a sweep or a retirement name ids only: a bounded number of them is looked up among the other events, then in the
records. The rest is counted as unknown, and never shared out.

Made for `Operate.timing` and `Operate.scaling`; judged by `timing/advice.py` and `timing/scaling.py`.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tenure.event import Event, EventKind
from tenure.rules.shared_samples import shared_queue
from tenure.sample import Ended, Sample
from tenure.settlement import Outcome
from tenure.state import Journal, Records, State
from tenure.timing.figures import Durations, Standing, TaskFigures
from tenure.timing.scaling import Pace

#: A queue and a task.
Name = tuple[str, str]

MOST_EVENTS = 20_000
_PAGE = 1_000
#: This many tasks get figures in one survey.
MOST_TASKS = 500
#: Ids are looked up in the records up to this many, and this many at a time.
_MOST_RECORDS, _AT_ONCE = 200, 20

#: Events that end a run, by what they count as.
_COUNTED = {
    EventKind.COMPLETED: "completed",
    EventKind.RETRIED: "retried",
    EventKind.DEAD: "dead",
    EventKind.DUPLICATE: "duplicates",
    EventKind.LEASE_LOST: "overran",
    EventKind.LATE_SETTLE: "overran",
}
#: Why it came back says more than that a worker sent it back, by the code of the reason.
_BY_CODE = {
    (EventKind.RETRIED, "process_died"): "crashed",
    (EventKind.GIVEN_BACK, "lease_lapsed"): "expired",
}
#: Who returns the messages of the dead; everybody else returns what is overdue.
_BURIALS = frozenset({"liveness", "supervisor"})


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a survey."""

    figures: tuple[TaskFigures, ...]
    #: How long messages of a queue keep a slot, failed runs too. Queues without a run are not in it.
    pace: dict[str, Pace]
    #: Came back; of which task is not known.
    unknown_expired: int
    unknown_crashed: int
    #: The window: how many events, and the wall time of the oldest that was asked for.
    events: int
    since: float
    #: There are more events in that time than were looked at.
    is_cut: bool
    #: There are more tasks than were wanted at once.
    is_more: bool = False


class TaskSlice(msgspec.Struct, frozen=True, kw_only=True):
    """The page of tasks that get figures: the first ones by queue and name."""

    #: The name of the only one.
    task: str | None = None
    #: `place_of` the last one of the page before.
    after: str = ""
    limit: int = MOST_TASKS

    def wants(self, name: Name) -> bool:
        """Whether a task may be on this page."""
        return self.task in (None, name[1]) and place_of(*name) > self.after


async def survey(
    state: State,
    *,
    since: float,
    standings: Mapping[Name, Standing] | None = None,
    sees: Callable[[str], bool] = lambda _: True,
    most_events: int = MOST_EVENTS,
    page: "TaskSlice | None" = None,
    samples: "TaskSamples | None" = None,
) -> Survey:
    """Look at everything since that wall time. `standings`: tasks whose policy is known; all of them get figures.

    `page`: which tasks get figures. Only their samples are read; `samples` remembers them.
    """
    samples = TaskSamples(state.journal) if samples is None else samples
    known = {} if standings is None else standings
    events, is_cut = await newest(state.journal, since, most_events)
    counted = _Counted(sees)
    for event in events:
        counted.add(event)
    unknown = await counted.place_returns(state.records)
    page = TaskSlice() if page is None else page
    names = {*known, *counted.names}
    wanted = sorted(filter(page.wants, names), key=lambda name: place_of(*name))
    figures = []
    for name in wanted[: page.limit]:
        recent = [one for one in await samples.of(*name) if one.at >= since]
        figures.append(counted.figures(*name, known.get(name), recent, unknown))
    return Survey(
        figures=tuple(figures),
        pace=counted.pace(),
        unknown_expired=unknown["expired"],
        unknown_crashed=unknown["crashed"],
        events=sum(event.queue is None or sees(event.queue) for event in events),
        since=since,
        is_cut=is_cut,
        is_more=len(wanted) > page.limit,
    )


def place_of(queue: str, task: str) -> str:
    """Return the position of a task in the order of a survey."""
    return f"{queue} {task}"


async def newest(journal: Journal, since: float, most: int = MOST_EVENTS) -> tuple[list[Event], bool]:
    """Events since that wall time, oldest first, at most this many of the newest; and whether there were more."""
    end = await journal.last()
    first = max(0, end - most)
    pages: list[list[Event]] = []
    place = end
    while place > first:
        before, place = place, max(first, place - _PAGE)
        page = [one.event for one in await journal.read(place, before - place) if one.seq <= before]
        pages.append([event for event in page if event.at >= since])
        if not pages[-1]:  # not by its oldest alone: a worker whose clock is slow stands among the others
            return _joined(pages), False
    return _joined(pages), first > 0


def _joined(pages: list[list[Event]]) -> list[Event]:
    return [event for page in reversed(pages) for event in page]


class TaskSamples:
    """Samples of tasks, each read once."""

    def __init__(self, journal: Journal, *, shares: bool = True) -> None:
        """Read from `journal`, when asked. `shares=False` leaves out what queues share."""
        self._journal = journal
        self._shares = shares
        self._known: dict[Name, list[Sample]] = {}

    async def of(self, queue: str, task: str) -> list[Sample]:
        """Every sample of a task that is kept, oldest first; but for what cannot be a duration.

        Where queues are many, those that they share (`rules/shared_samples.py`): then the very same list for each.
        """
        own = await self._read(queue, task)
        return own or (await self._read(shared_queue(queue), task) if self._shares else own)

    async def _read(self, queue: str, task: str) -> list[Sample]:
        known = self._known.get((queue, task))
        if known is None:
            stored = await self._journal.samples(queue, task)
            known = self._known[queue, task] = [one.sample for one in stored if 0.0 <= one.sample.seconds < math.inf]
        return known


class _Counted:
    """The events of a window, counted."""

    def __init__(self, sees: Callable[[str], bool]) -> None:
        self._sees = sees
        self._counts: dict[Name, Counter[str]] = {}
        self._seconds: dict[str, list[float]] = {}
        #: Of whom each message is; None: of a queue or task that was not asked for.
        self._names: dict[str, Name | None] = {}
        self._overran: list[tuple[str, Name, float | None]] = []
        self._cancelled: set[str] = set()
        #: By the moment at which they were retired: whether they had said goodbye.
        self._left: dict[float, bool] = {}
        self._returned: dict[str, list[str]] = {"expired": [], "crashed": []}

    @property
    def names(self) -> Iterable[Name]:
        """Every queue and task with an event."""
        return self._counts

    def add(self, event: Event) -> None:
        """Count one event."""
        match event.kind:
            case EventKind.REQUEUE | EventKind.MOVE_TO_DLQ:
                self._add_return(event)
            case EventKind.OWNER_RETIRED:
                self._left[event.at] = bool(event.data.get("left"))
            case EventKind.CANCELLED:
                self._cancelled.update(event.data.get("ids", ()))
            case _ if event.queue is not None and event.task is not None:
                what = _BY_CODE.get((event.kind, str(event.data.get("code"))), _COUNTED.get(event.kind))
                if what is not None:
                    self._add_run(event, (event.queue, event.task), what)

    def _add_run(self, event: Event, name: Name, what: str) -> None:
        is_seen = self._sees(name[0])
        if event.message_id is not None:
            self._names[event.message_id] = name if is_seen else None
        if not is_seen:
            return
        counts = self._counts.setdefault(name, Counter())
        if what == "overran" and event.data.get("code") == "cancelled":
            return  # a user's act says nothing about how long the work takes
        if what == "overran":
            self._overran.append((event.message_id or "", name, event.seconds))
        else:
            counts[what] += 1
            self._add_seconds(name[0], event.seconds)
        if event.data.get("code") == "max_hold":
            counts["held"] += 1
        if event.kind in (EventKind.COMPLETED, EventKind.DUPLICATE):
            counts["deletes"] += 1
            counts["undeleted"] += event.data.get("delete", Outcome.ALREADY_GONE) != Outcome.ALREADY_GONE

    def _add_seconds(self, queue: str, seconds: float | None) -> None:
        if seconds is not None:
            self._seconds.setdefault(queue, []).append(seconds)

    def _add_return(self, event: Event) -> None:
        if event.queue is not None and not self._sees(event.queue):
            return
        ids = [id for id in event.data.get("ids", ()) if isinstance(id, str)]
        if event.data.get("triggered_by") not in _BURIALS:
            self._returned["expired"] += ids
        elif not self._left.get(event.at, False):  # reported just before, in the same step
            self._returned["crashed"] += ids

    async def place_returns(self, records: Records) -> Counter[str]:
        """Say of which task everything is that came back; how many of each kind have an unknown task."""
        for id, overran, seconds in self._overran:
            if id not in self._cancelled:  # its holder knows that it was cancelled
                self._counts[overran]["overran"] += 1
                self._add_seconds(overran[0], seconds)
        strange = dict.fromkeys(id for ids in self._returned.values() for id in ids if id not in self._names)
        await self._look_up(records, list(strange)[:_MOST_RECORDS])
        unknown: Counter[str] = Counter()
        for what, ids in self._returned.items():
            for id in ids:
                if id not in self._names:
                    unknown[what] += 1
                elif (name := self._names[id]) is not None:
                    self._counts.setdefault(name, Counter())[what] += 1
        return unknown

    async def _look_up(self, records: Records, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            for record in await asyncio.gather(*map(records.get, ids[start : start + _AT_ONCE])):
                if record is not None and record.task is not None:
                    self._names[record.id] = (record.queue, record.task) if self._sees(record.queue) else None

    def figures(
        self, queue: str, task: str, standing: Standing | None, samples: Sequence[Sample], unknown: Counter[str]
    ) -> TaskFigures:
        """Return the figures of one task."""
        counts = self._counts.get((queue, task), Counter())
        killed = sum(one.ended is Ended.KILLED for one in samples)
        return TaskFigures(
            queue=queue,
            task=task,
            standing=standing,
            durations=Durations.of([one.seconds for one in samples], killed),
            completed=counts["completed"],
            retried=counts["retried"],
            dead=counts["dead"],
            duplicates=counts["duplicates"],
            overran=counts["overran"],
            held=counts["held"],
            expired=_or_unknown(counts["expired"], unknown["expired"]),
            crashed=_or_unknown(counts["crashed"], unknown["crashed"]),
            deletes=counts["deletes"],
            deletes_failed=counts["undeleted"],
        )

    def pace(self) -> dict[str, Pace]:
        """How long each queue's messages keep a slot."""
        found = {}
        for queue, seconds in self._seconds.items():
            durations = Durations.of(seconds)
            if durations is not None:
                found[queue] = Pace(durations.mean, durations.q99, durations.samples)
        return found


def _or_unknown(number: int, unknown: int) -> int | None:
    """Return None instead of 0 where the task of some messages is not known."""
    return None if not number and unknown else number
