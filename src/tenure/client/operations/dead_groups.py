"""Dead letters grouped by what went wrong: one group for each fingerprint (`rules/fingerprint.py`). Pure.

The newest dead letters are added first, so what a group shows as an example is its newest.
"""

from collections import Counter

import msgspec

from tenure.query import Browsed
from tenure.rules.fingerprint import fingerprint, place_of
from tenure.text.traceback_text import without_library_frames

#: `DeadGroup.by_hour` covers this many hours.
HOURS = 24
_HOUR = 3_600.0
#: This many ids of each group are shown.
_SHOWN_IDS = 10


class DeadGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters that died of the same thing."""

    #: Names the group; the same at every look, on every store.
    fingerprint: str
    #: None: they cannot be read.
    task: str | None
    #: The code of the reason.
    code: str
    #: The class of the exception. Empty: there was none.
    error: str
    #: The deepest frame of your own code, as in `jobs.py:12 in resize`. Empty: not known.
    place: str
    #: The sentence of the newest one. None: it is left out for who may not see payloads.
    text: str | None
    count: int
    #: By queue, how many.
    queues: dict[str, int]
    #: Unix seconds: when the first and the last of them died. None: not kept.
    first_at: float | None
    last_at: float | None
    #: How many died in each hour, the oldest first, up to now (`DeadGroups.hours_since`).
    by_hour: tuple[int, ...]
    #: The newest ids.
    ids: tuple[str, ...]
    #: The traceback of the newest one, with the frames of your own code. Empty: there is none. None: left out.
    traceback: str | None
    redacted: bool = False


class DeadGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The groups, the largest first."""

    groups: tuple[DeadGroup, ...]
    #: Dead letters that were looked at.
    looked_at: int
    #: There are more than were looked at.
    more: bool
    #: Unix seconds: where `DeadGroup.by_hour` begins.
    hours_since: float


class Grouping:
    """Dead letters, put into groups one by one."""

    def __init__(self, now: float) -> None:
        """`now`: wall time by the store's clock."""
        self._since = (now // _HOUR - HOURS + 1) * _HOUR
        self._groups: dict[str, list[Browsed]] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._ends: dict[str, tuple[float, float]] = {}
        self._hours: dict[str, list[int]] = {}
        self._looked_at = 0

    def add(self, browsed: Browsed) -> str:
        """Put one into its group; the group's fingerprint."""
        self._looked_at += 1
        name = fingerprint(browsed.task, browsed.reason)
        examples = self._groups.setdefault(name, [])
        if len(examples) < _SHOWN_IDS:
            examples.append(browsed)
        self._counts.setdefault(name, Counter())[browsed.queue] += 1
        hours, died_at = self._hours.setdefault(name, [0] * HOURS), browsed.finished_at
        if died_at is not None:
            first, last = self._ends.get(name, (died_at, died_at))
            self._ends[name] = (min(first, died_at), max(last, died_at))
            if died_at >= self._since:
                hours[min(HOURS - 1, int((died_at - self._since) // _HOUR))] += 1
        return name

    def result(self, *, more: bool) -> DeadGroups:
        """The groups, the largest first."""
        groups = sorted((self._group(name) for name in self._groups), key=lambda one: (-one.count, one.fingerprint))
        return DeadGroups(groups=tuple(groups), looked_at=self._looked_at, more=more, hours_since=self._since)

    def _group(self, name: str) -> DeadGroup:
        examples, counts = self._groups[name], self._counts[name]
        newest = examples[0]
        reason, ends = newest.reason, self._ends.get(name)
        traceback = "" if reason is None else reason.traceback
        return DeadGroup(
            fingerprint=name,
            task=newest.task,
            code="unknown" if reason is None else reason.code,
            error="" if reason is None else reason.error,
            place=str(place_of(traceback) or ""),
            text="" if reason is None else reason.text.partition("\n")[0],
            count=counts.total(),
            queues=dict(sorted(counts.items())),
            first_at=None if ends is None else ends[0],
            last_at=None if ends is None else ends[1],
            by_hour=tuple(self._hours[name]),
            ids=tuple(one.id for one in examples),
            traceback=without_library_frames(traceback) if traceback else "",
        )
