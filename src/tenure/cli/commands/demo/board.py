"""The board: what has happened, as sentences from the journal, with the figures that matter.

Only what people want to know becomes a line; a quick message that simply completed is counted.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence

import msgspec

from tenure.cli.commands.demo.tasks import NOTIFY_SUCCEEDS_AT, TRANSCODE_LEASE_SECONDS
from tenure.cli.terminal.output import plural
from tenure.event import Event, EventKind, StoredEvent

GOOD, BAD, WARNING, NEUTRAL = "green", "red", "yellow", "cyan"
_KEEP_LINES = 200


class DemoLine(msgspec.Struct, frozen=True):
    """One thing that happened, for reading."""

    at: float
    word: str
    text: str
    style: str


class Kill(msgspec.Struct):
    """One worker ended with kill -9, and how long its messages were away."""

    owner: str
    at: float
    #: Messages that came back. None: not yet.
    returned: int | None = None
    back_after_seconds: float | None = None


class DemoBoard:
    """Lines and figures, in the order of the journal."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.lines: deque[DemoLine] = deque(maxlen=_KEEP_LINES)
        self.counts: Counter[str] = Counter()
        self.by_task: Counter[tuple[str, str]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.kills: list[Kill] = []
        self.place = 0

    def say(self, at: float, word: str, text: str, style: str) -> None:
        """Add a line of the demo's own."""
        self.lines.append(DemoLine(at, word, text, style))

    def killed(self, owner: str, at: float, holding: int) -> None:
        """The demo has ended a worker."""
        self.kills.append(Kill(owner, at))
        self.say(at, "kill -9", f"{_name(owner)} is ended while it holds {plural(holding, 'message')}", BAD)

    def take(self, events: Sequence[StoredEvent]) -> None:
        """Read on in the journal."""
        for stored in events:
            self.place = stored.seq
            event = stored.event
            self.counts[event.kind] += 1
            if event.task is not None:
                self.by_task[event.task, event.kind] += 1
            tell = _TELLERS.get(event.kind)
            if tell is not None:
                tell(self, event)

    def last_kill_of(self, name: str) -> Kill | None:
        """The last time this worker was ended."""
        return next((kill for kill in reversed(self.kills) if _name(kill.owner) == name), None)

    @property
    def recoveries(self) -> list[float]:
        """For each kill whose messages are back: seconds from the kill to their return."""
        return [kill.back_after_seconds for kill in self.kills if kill.back_after_seconds is not None]

    # -- sentences ---------------------------------------------------------------------------------

    def _completed(self, event: Event) -> None:
        if event.task == "transcode":
            text = f"{_message(event)} ran {event.seconds or 0:.1f} s on a lease of {TRANSCODE_LEASE_SECONDS:.0f} s"
            self.say(event.at, "completed", text, GOOD)
        elif event.attempt is not None and event.attempt >= NOTIFY_SUCCEEDS_AT:
            self.say(event.at, "completed", f"{_message(event)} at attempt {event.attempt}", GOOD)

    def _retried(self, event: Event) -> None:
        after = event.data.get("after_seconds", 0)
        text = f"{_message(event)} failed, attempt {event.attempt}; again in {after:.1f} s"
        self.say(event.at, "retried", text, WARNING)

    def _dead(self, event: Event) -> None:
        code = event.data.get("code", "")
        self.reasons[code] += 1
        self.say(event.at, "dead", f"{_message(event)} to the dead letters: {code}", BAD)

    def _moved_to_dead(self, event: Event) -> None:
        self.say(event.at, "dead", f"the sweep moved {event.data.get('count')} to the dead letters", BAD)

    def _requeue(self, event: Event) -> None:
        if event.data.get("triggered_by") != "liveness":  # those are shown with their owner
            self.say(event.at, "requeue", f"{event.data.get('count')} overdue returned by the sweep", WARNING)

    def _retired(self, event: Event) -> None:
        owner, count = event.owner or "", int(event.data.get("count", 0))
        kill = next((kill for kill in self.kills if kill.owner == owner), None)
        if kill is not None:
            kill.returned, kill.back_after_seconds = count, max(0.0, event.at - kill.at)
            what = f"{plural(count, 'message')} of {_name(owner)}"
            text = f"{what} ready again, {kill.back_after_seconds:.1f} s after kill -9"
            self.say(event.at, "requeue", text, GOOD)
        elif not event.data.get("left"):
            text = f"{_name(owner)} crashed; its {plural(count, 'message')} are ready again"
            self.say(event.at, "requeue", text, WARNING)

    def _joined(self, event: Event) -> None:
        self.say(event.at, "worker", f"{_name(event.owner or '')} has joined", NEUTRAL)

    def _redriven(self, event: Event) -> None:
        self.say(event.at, event.kind, f"{event.data.get('count')} dead letters, by {event.data.get('by')}", NEUTRAL)

    def _trouble(self, event: Event) -> None:
        what = _message(event) if event.message_id else _name(event.owner or "")
        self.say(event.at, event.kind.replace("_", " "), what, WARNING)


def _name(owner: str) -> str:
    return owner.partition("/")[0]


def _message(event: Event) -> str:
    return f"{event.task or 'unreadable'} {(event.message_id or '')[-6:]}"


_TELLERS: dict[str, Callable[[DemoBoard, Event], None]] = {
    EventKind.COMPLETED: DemoBoard._completed,  # noqa: SLF001 - the table belongs to the class
    EventKind.RETRIED: DemoBoard._retried,  # noqa: SLF001
    EventKind.DEAD: DemoBoard._dead,  # noqa: SLF001
    EventKind.MOVE_TO_DLQ: DemoBoard._moved_to_dead,  # noqa: SLF001
    EventKind.REQUEUE: DemoBoard._requeue,  # noqa: SLF001
    EventKind.OWNER_RETIRED: DemoBoard._retired,  # noqa: SLF001
    EventKind.OWNER_JOINED: DemoBoard._joined,  # noqa: SLF001
    EventKind.REDRIVEN: DemoBoard._redriven,  # noqa: SLF001
    EventKind.DELETED: DemoBoard._redriven,  # noqa: SLF001
    EventKind.DUPLICATE: DemoBoard._trouble,  # noqa: SLF001
    EventKind.LEASE_LOST: DemoBoard._trouble,  # noqa: SLF001
    EventKind.LATE_SETTLE: DemoBoard._trouble,  # noqa: SLF001
    EventKind.HEARTBEAT_FAILED: DemoBoard._trouble,  # noqa: SLF001
    EventKind.SWEEP_GRACE: DemoBoard._trouble,  # noqa: SLF001
    EventKind.LOOP_BLOCKED: DemoBoard._trouble,  # noqa: SLF001
}
