"""The result: the measures of one policy under one scenario, as the table shows them.

None is "cannot be said" (no crash, so no recovery), 0 is "none". Made of the book by `running.py`.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from tenure.simulation.billing import POLL, REQUESTS, WRITE
from tenure.simulation.fleet import FleetView
from tenure.simulation.outcomes import Outcomes
from tenure.simulation.scenario import Scenario


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of some messages: what happened to them."""

    messages: int
    #: Messages that were finished: deleted, or given up.
    finished: int
    #: Messages whose handler ran to its end more than once.
    duplicates: int
    #: Messages of which two handlers were at work at the same time.
    overlapped: int
    #: Messages that ended with the dead letters.
    given_up: int
    runs: int
    #: Crashes in the middle of a run, after which the message was begun again; and how long that took.
    recoveries: int
    recovery_p50: float | None
    recovery_p99: float | None
    worked_seconds: float
    #: Of these: not part of the first run that came to its end.
    wasted_seconds: float
    #: Renewals of leases.
    beats: int

    @property
    def duplicate_share(self) -> float:
        """Duplicates as a share of all messages."""
        return self.duplicates / self.messages

    @property
    def overlap_share(self) -> float:
        """Overlapping runs as a share of all messages."""
        return self.overlapped / self.messages

    @property
    def given_up_share(self) -> float:
        """Messages given up, as a share of all."""
        return self.given_up / self.messages

    @property
    def wasted_share(self) -> float:
        """Wasted work as a share of all work."""
        return self.wasted_seconds / self.worked_seconds if self.worked_seconds else 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the table."""

    policy: str
    #: False: it was interrupted, and the measures are of the messages that had begun by then.
    complete: bool
    #: True: it never came to its end within the time that was waited.
    stuck: bool
    measures: Measures
    #: The same for the messages of each size; empty where messages have no sizes, or too many.
    by_size: dict[int, Measures]
    crashes: int
    #: Until the last message was finished. None: it was not.
    drain_seconds: float | None
    #: Virtual time that passed.
    seconds: float
    #: The longest time from the send of a message to the end of its first whole run.
    oldest_seconds: float | None
    #: How long workers were there, all together.
    worker_seconds: float
    #: Runs that were ended because their worker was stopped.
    interrupted: int
    #: Of these, the last ones: since then no message was done. When nothing else happens, the simulation ends.
    cut_in_a_row: int
    #: The workers and their queue over time, where workers were scaled.
    seen: tuple[FleetView, ...]
    #: Calls as SQS would bill them, and entries written to the state.
    calls: dict[str, int]

    @classmethod
    def of(
        cls,
        policy: str,
        scenario: Scenario,
        book: Outcomes,
        counts: Mapping[str, int],
        *,
        is_complete: bool,
        is_stuck: bool,
        worker_seconds: float,
        seen: Sequence[FleetView],
    ) -> "Result":
        """Read the book."""
        which = [index for index in range(book.count) if is_complete or book.begun[index]]
        ages = [done - sent for done, sent in zip(book.done_at, book.sent_at, strict=True) if done is not None]
        return cls(
            policy=policy,
            complete=is_complete,
            stuck=is_stuck,
            measures=_measures(scenario, book, which),
            by_size=_by_size(scenario, book, which),
            crashes=book.crashes,
            drain_seconds=None if book.left else book.ended_at,
            seconds=book.ended_at,
            oldest_seconds=max(ages, default=None),
            worker_seconds=worker_seconds,
            interrupted=book.interrupted,
            cut_in_a_row=book.cut_in_a_row,
            seen=tuple(seen),
            calls={name: counts.get(name, 0) for name in (*REQUESTS, WRITE)},
        )

    @property
    def requests_a_message(self) -> float | None:
        """Requests to the queue."""
        return self._a_message(*REQUESTS)

    @property
    def polls_a_message(self) -> float | None:
        """Empty requests by idle workers, for each message."""
        return self._a_message(POLL)

    @property
    def writes_a_message(self) -> float | None:
        """Entries written to the state."""
        return self._a_message(WRITE)

    def _a_message(self, *names: str) -> float | None:
        """Divide a count by the messages. None: the run was interrupted, so the counts do not match."""
        return sum(self.calls[name] for name in names) / self.measures.messages if self.complete else None


#: More kinds of sizes than these are not told apart.
MOST_SIZES = 20


def _by_size(scenario: Scenario, book: Outcomes, which: Sequence[int]) -> dict[int, Measures]:
    found: dict[int, list[int]] = {}
    for index in which:
        size = scenario.works[index].size
        if size is not None:
            found.setdefault(size, []).append(index)
    if len(found) > MOST_SIZES:
        return {}
    return {size: _measures(scenario, book, found[size]) for size in sorted(found)}


def _measures(scenario: Scenario, book: Outcomes, which: Sequence[int]) -> Measures:
    chosen = None if len(which) == book.count else set(which)
    seconds = sorted(took for index, took in book.recoveries if chosen is None or index in chosen)
    worked = math.fsum(book.worked[index] for index in which)
    useful = math.fsum(scenario.works[index].seconds for index in which if book.completed[index])
    return Measures(
        messages=len(which),
        finished=len(which) - book.left if chosen is None else sum(book.completed[i] > 0 for i in which),
        duplicates=sum(book.completed[index] > 1 for index in which),
        overlapped=sum(book.overlapped[index] for index in which),
        given_up=sum(book.given_up[index] for index in which),
        runs=sum(book.begun[index] for index in which),
        recoveries=len(seconds),
        recovery_p50=quantile(seconds, 0.5),
        recovery_p99=quantile(seconds, 0.99),
        worked_seconds=round(worked, 3),
        wasted_seconds=round(max(0.0, worked - useful), 3),
        beats=sum(book.beats[index] for index in which),
    )


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """The value that `part` of them stay within. None: there are none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None
