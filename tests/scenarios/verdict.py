"""The judge: the same questions for every scenario, answered from what was left behind.

Nothing lost, no effect done twice, no message run by two at a time, no settle by somebody who had lost the
lease, nothing revived, no worker that fell over.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.record import Record

from .process import Process
from .traces import Run, Traces

_FINISHED = (MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED)

#: What must never be in a worker's log: a task of ours that died unseen.
_NEVER_SAID = ("never retrieved", "RuntimeError", "Fatal Python error", "error[internal]")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What happened on the stage, by message id."""

    #: Sent, and in no state at all.
    lost: list[str]
    completed: list[str]
    dead: list[str]
    unfinished: list[str]
    effects_twice: list[str]
    #: Completed without its effect.
    effects_missing: list[str]
    #: Run by two at the same time.
    overlaps: list[str]
    #: Completed by a run that was not the last one lent: a late settle that took effect, or a revival.
    late: list[str]
    #: Completed more than once, by the journal.
    completed_twice: list[str]
    #: Late settles that changed nothing, as it should be.
    refused: list[str]
    #: What went wrong with the processes themselves.
    trouble: list[str]

    def complaints(self, *, dead: set[str], unfinished: set[str], may_overlap: set[str]) -> list[str]:
        """Everything that is not as it should be."""
        expected = {
            "lost": (self.lost, set()),
            "effects done twice": (self.effects_twice, set()),
            "completed without their effect": (self.effects_missing, set()),
            "settled late, or revived": (self.late, set()),
            "completed twice": (self.completed_twice, set()),
            "in the dead letters": (self.dead, dead),
            "unfinished": (self.unfinished, unfinished),
        }
        wrong = [
            f"{what}: {sorted(found)}; expected: {sorted(wanted)}"
            for what, (found, wanted) in expected.items()
            if set(found) != wanted
        ]
        overlaps = set(self.overlaps) - may_overlap
        if overlaps:
            wrong.append(f"run by two at a time: {sorted(overlaps)}")
        return wrong + self.trouble


def judge(
    records: Mapping[str, Record | None], traces: Traces, processes: Sequence[Process], events: Sequence[Event]
) -> Verdict:
    """Look at everything that was left behind."""
    known = {id: record for id, record in records.items() if record is not None}
    runs = traces.runs_by_id()
    effects = traces.effects()
    completed = [id for id, record in known.items() if record.state is MessageState.COMPLETED]
    deaths = {process.pid: process.killed_at for process in processes if process.killed_at is not None}
    told = Counter(event.message_id or "" for event in events if event.kind is EventKind.COMPLETED)
    return Verdict(
        lost=sorted(set(records) - set(known)),
        completed=completed,
        dead=[id for id, record in known.items() if record.state is MessageState.DEAD],
        unfinished=[id for id, record in known.items() if record.state not in _FINISHED],
        effects_twice=[id for id, count in effects.items() if count > 1],
        effects_missing=[id for id in completed if id not in effects],
        overlaps=[id for id, own in runs.items() if _overlap(own, deaths)],
        late=[id for id in completed if not _completed_by_last(known[id], runs[id])],
        completed_twice=sorted(id for id, count in told.items() if count > 1),
        refused=[event.message_id or "" for event in events if is_late(event)],
        trouble=list(_trouble(processes)),
    )


def is_late(event: Event) -> bool:
    """Whether it tells of a settle that came too late. After an answer that got lost, nobody can tell."""
    return event.kind is EventKind.LATE_SETTLE and event.data.get("outcome") != "unknown"


def _overlap(runs: Sequence[Run], deaths: Mapping[int, float]) -> bool:
    """Whether two runs of one message were under way at the same time."""
    ends = [deaths.get(run.pid, run.last) if run.how is None else run.last for run in runs]
    return any(later.start < max(ends[:number]) for number, later in enumerate(runs[1:], 1))


def _completed_by_last(record: Record, runs: Sequence[Run]) -> bool:
    """The fence rises with every lease, so the run that completed a message must have the highest."""
    answer = msgspec.json.decode(record.result or b"null")
    return isinstance(answer, dict) and answer.get("fence") == max(run.fence for run in runs)


def _trouble(processes: Iterable[Process]) -> Iterable[str]:
    for process in processes:
        if process.exit_code not in (None, 0) and process.killed_at is None:
            yield f"process {process.pid} ended with exit code {process.exit_code}"
        for words in _NEVER_SAID:
            if words in process.said:
                yield f"process {process.pid} said {words!r}"
