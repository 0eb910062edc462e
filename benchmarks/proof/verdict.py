"""The verdict on one contender after one fault, by the same questions for all of them.

lost      it never ran to its end, and the store has no trace of it any more
twice     it ran to its end more than once
overlap   two runs of it were at work at the same time, for longer than `TOLERANCE`; a frozen one is not at work
stuck     it never ran to its end while we looked, and the store still has it
dead      it never ran to its end, and lies where the contender keeps what failed
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from benchmarks.proof.program import Worker
from benchmarks.proof.trace import Run

#: A worker that comes back from a freeze needs a moment to find out.
TOLERANCE = 0.25

#: Where a message is that did not come to its end.
Whereabouts = Literal["gone", "waiting", "dead"]


class Verdict(NamedTuple):
    """Counts of messages."""

    sent: int
    lost: int
    twice: int
    overlapping: int
    stuck: int
    dead: int
    #: Messages whose effect was done more than once. Where a contender cannot prevent it: as `twice`.
    effects_twice: int
    #: What else is worth saying.
    note: str = ""

    @property
    def told(self) -> str:
        """In a cell."""
        counts = {"lost": self.lost, "twice": self.twice, "overlap": self.overlapping, "stuck": self.stuck}
        words = [f"{count} {what}" for what, count in (counts | {"dead": self.dead}).items() if count]
        if self.effects_twice < self.twice:
            words[words.index(f"{self.twice} twice")] += f", {self.effects_twice or 'no'} effect twice"
        said = ", ".join(words) or "ok"
        return f"{said} ({self.note})" if self.note else said


def unfinished(ids: Iterable[str], runs: Sequence[Run]) -> set[str]:
    """Messages that no run has brought to its end."""
    return set(ids) - {run.id for run in runs if run.end is not None and not run.is_stopped}


def judge(
    ids: Sequence[str],
    runs: Sequence[Run],
    workers: Sequence[Worker],
    where: Mapping[str, Whereabouts],
    *,
    effects: Sequence[str] | None,
    note: str,
) -> Verdict:
    """Of these messages; `where` are those that did not come to their end."""
    by_id: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_id[run.id].append(run)
    ends = {id: sum(run.end is not None and not run.is_stopped for run in by_id[id]) for id in ids}
    active = {worker.pid: worker for worker in workers}
    last = _last_signs(runs)
    overlapping = sum(
        any(_overlap(one, two, active, last) for one, two in combinations(by_id[id], 2)) for id in set(ids)
    )
    found = list(where.values())
    twice = sum(count > 1 for count in ends.values())
    return Verdict(
        sent=len(set(ids)),
        lost=found.count("gone"),
        twice=twice,
        overlapping=overlapping,
        stuck=found.count("waiting"),
        dead=found.count("dead"),
        effects_twice=twice if effects is None else sum(count > 1 for count in Counter(effects).values()),
        note=note,
    )


def _last_signs(runs: Sequence[Run]) -> dict[int, float]:
    """When each process wrote its last line: a run of it without an end has ended by then, or with its worker."""
    last: dict[int, float] = defaultdict(float)
    for run in runs:
        last[run.pid] = max(last[run.pid], run.start, run.end or 0.0)
    return last


def _overlap(one: Run, two: Run, workers: Mapping[int, Worker], last: Mapping[int, float]) -> bool:
    pieces = [(a, b) for a in _at_work(one, workers, last) for b in _at_work(two, workers, last)]
    return any(min(a[1], b[1]) - max(a[0], b[0]) > TOLERANCE for a, b in pieces)


def _at_work(run: Run, workers: Mapping[int, Worker], last: Mapping[int, float]) -> list[tuple[float, float]]:
    """From when until when; without the time in which it was frozen."""
    worker = workers.get(run.session)
    end = run.end if run.end is not None else last[run.pid]
    if worker is not None and worker.killed_at is not None:
        end = min(end, worker.killed_at) if run.end is not None else worker.killed_at
    if worker is None or worker.frozen is None:
        return [(run.start, end)]
    begin, over = worker.frozen
    return [
        (start, stop) for start, stop in ((run.start, min(end, begin)), (max(run.start, over), end)) if stop > start
    ]
