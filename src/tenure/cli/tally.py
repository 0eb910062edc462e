"""A tally: what a worker did, for the last line that it says. Used by `worker.py`."""

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
#: The kinds whose reason is worth a word: what is retried has been told of line by line.
_WITH_REASON = (EventKind.GIVEN_BACK,)


class Tally:
    """A sink that counts how messages ended."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._counts: dict[EventKind, Counter[str]] = {}
        #: As of the last `since_last`.
        self._told: Counter[EventKind] = Counter()

    def publish(self, events: Sequence[Event]) -> None:
        """Count."""
        for event in events:
            if event.kind in _WORDS:
                code = str(event.data.get("code") or "")
                self._counts.setdefault(event.kind, Counter())[code] += 1

    def since_last(self) -> str:
        """What was done since the last call, in a line; empty: nothing."""
        totals = Counter({kind: counts.total() for kind, counts in self._counts.items()})
        new, self._told = totals - self._told, totals
        return ", ".join(f"{new[kind]} {word}" for kind, word in _WORDS.items() if new[kind])

    @property
    def given_back(self) -> dict[str, int]:
        """How many were given back, by the code of the reason."""
        return dict(self._counts.get(EventKind.GIVEN_BACK, {}))

    def __str__(self) -> str:
        """What was done, in a line."""
        told = [
            f"{counts.total()} {word}{_reasons(counts) if kind in _WITH_REASON else ''}"
            for kind, word in _WORDS.items()
            if (counts := self._counts.get(kind))
        ]
        return ", ".join(told) or "nothing, there was nothing to do"


def _reasons(counts: Counter[str]) -> str:
    codes = [code for code, _ in counts.most_common() if code]
    return f" ({', '.join(codes)})" if codes else ""
