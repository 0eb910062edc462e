"""What the handlers have written while things went wrong: runs, with their starts and ends."""

import json
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """One call of a handler."""

    id: str
    pid: int
    #: Of the worker that it belongs to: the pid of the worker's first process.
    session: int
    start: float
    #: None: it never came to an end.
    end: float | None
    #: It was broken off by its own worker.
    is_stopped: bool


def read_effects(trace: Path) -> list[str] | None:
    """The ids of the effects that were noted. None: the contender notes none, its effect is a run that ends."""
    text = trace.read_text(encoding="utf-8") if trace.exists() else ""
    lines = map(json.loads, text[: text.rfind("\n") + 1].splitlines())
    return [line["id"] for line in lines if line.get("kind") == "effect"] or None


def read_runs(trace: Path) -> list[Run]:
    """Every run so far, in order of its start. Half a line at the end is on its way."""
    text = trace.read_text(encoding="utf-8") if trace.exists() else ""
    runs: dict[str, Run] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        one = json.loads(line)
        if not one.get("run"):
            continue
        if one["kind"] == "start":
            runs[one["run"]] = Run(
                str(one.get("id")), one["pid"], one["session"], one["at"], end=None, is_stopped=False
            )
        elif one["run"] in runs:
            run = runs[one["run"]]
            runs[one["run"]] = run._replace(end=one["at"], is_stopped=one["kind"] == "stop")
    return sorted(runs.values(), key=lambda run: run.start)
