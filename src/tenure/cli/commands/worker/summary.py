"""The summary of a worker: what it did, for its last log line. Used by `worker.py`."""

from collections import Counter
from collections.abc import Sequence

from tenure.event import Event, EventKind

#: Every way in which a worker is done with a message, in the words for it.
_WORDS = {
    EventKind.COMPLETED: "completed",
    EventKind.RETRIED: "retried",
    EventKind.SNOOZED: "snoozed",
    EventKind.DEAD: "dead",
    EventKind.DUPLICATE: "known as done",
    EventKind.GIVEN_BACK: "given back",
    EventKind.LEASE_LOST: "lost",
    EventKind.LATE_SETTLE: "settled too late",
}
#: The code in the event of a run that a user's cancel ended, which is not an error; and its name in the summary.
_CANCELLED = "cancelled"
_STOPPED = (EventKind.LEASE_LOST, EventKind.LATE_SETTLE)
#: The kinds whose reasons are shown: each retry was logged in a line of its own.
_WITH_REASON = (EventKind.GIVEN_BACK,)


class Summary:
    """A sink that counts how messages ended."""

    def __init__(self) -> None:
        """Start with zero counts."""
        self._counts: dict[EventKind, Counter[str]] = {}
        self._cancelled = 0
        #: As of the last `since_last`.
        self._told: Counter[str] = Counter()

    def publish(self, events: Sequence[Event]) -> None:
        """Count the events."""
        for event in events:
            code = str(event.data.get("code") or "")
            if event.kind in _STOPPED and code == _CANCELLED:
                self._cancelled += 1
            elif event.kind in _WORDS:
                self._counts.setdefault(event.kind, Counter())[code] += 1

    def since_last(self) -> str:
        """Sum up in a line what was done since the last call; empty: nothing."""
        totals = Counter({_WORDS[kind]: counts.total() for kind, counts in self._counts.items()})
        totals[_CANCELLED] = self._cancelled
        new, self._told = totals - self._told, totals
        return ", ".join(f"{new[word]:,} {word}" for word in (*_WORDS.values(), _CANCELLED) if new[word])

    @property
    def given_back(self) -> dict[str, int]:
        """The number of messages that were given back, by the code of the reason."""
        return dict(self._counts.get(EventKind.GIVEN_BACK, {}))

    def __str__(self) -> str:
        """Sum up in a line what was done."""
        told = [
            f"{counts.total():,} {word}{_reasons(counts) if kind in _WITH_REASON else ''}"
            for kind, word in _WORDS.items()
            if (counts := self._counts.get(kind))
        ]
        told += [f"{self._cancelled:,} {_CANCELLED}"] if self._cancelled else []
        return ", ".join(told) or "nothing"


def _reasons(counts: Counter[str]) -> str:
    codes = [code for code, _ in counts.most_common() if code]
    return f" ({', '.join(codes)})" if codes else ""
