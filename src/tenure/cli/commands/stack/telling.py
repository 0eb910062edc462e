"""A handler's stack as text for people: a Python traceback, with the user's own frames in bold."""

import linecache
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.plain import one_line
from tenure.handler_stack import FrameKind, HandlerStack, Holds, Place, RunPhase, StackFrame
from tenure.text.plural import plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_PHASES = {
    RunPhase.WAITING: "waits in its worker: its task is at its concurrency limit, or no child process is free",
    RunPhase.FETCHING: "waits for its body, which is being fetched",
    RunPhase.STARTING: "waits for its child process, which starts or imports the app",
    RunPhase.RUNNING: "runs",
    RunPhase.ENDING: "was asked to end, and has not ended",
    RunPhase.SETTLING: "has ended; its outcome is being stored",
}
_PLACES = {
    Place.LOOP: "in the worker's event loop",
    Place.THREAD: "in a thread",
    Place.PROCESS: "in a child process",
    Place.SOLO: "alone in a child process, because its workers died while it ran",
}
_STYLES = {FrameKind.USER: "bold", FrameKind.LIBRARY: "", FrameKind.TENURE: "dim"}
_MIB = 1 << 20
#: A line of source is shown so long.
_LONGEST_LINE = 160


def tell(out: "Console", seen: HandlerStack, *, full: bool) -> None:
    """Print the whole answer on a console."""
    from rich.text import Text

    out.print(Text.assemble((one_line(seen.id), "bold"), f" {one_line(_headline(seen))}"))
    for line in _about(seen):
        out.print(line)
    standstill = _standstill(seen)
    if standstill:
        out.print(Text(one_line(standstill), style="red"))
    frames = [frame for frame in seen.stack.frames if full or frame.kind is not FrameKind.TENURE]
    if frames:
        out.print("\nStack (most recent call last):")
        _tell_frames(out, frames, seen.stack.left_out)
    elif not seen.note and seen.phase in (RunPhase.RUNNING, RunPhase.ENDING):
        out.print("No frame of its handler: it has just begun or just ended. Ask again; --full shows Tenure's own.")
    for branch in seen.stack.branches:
        out.print(f"\nwaits for {branch.name}:")
        _tell_frames(out, [frame for frame in branch.frames if full or frame.kind is not FrameKind.TENURE], 0)


def _headline(seen: HandlerStack) -> str:
    task = "" if seen.task is None else f" ({seen.task})"
    since = "" if seen.running_seconds is None else f", for {spoken(seen.running_seconds)} now"
    where = "" if seen.runs_in is None else f", {_PLACES[seen.runs_in]}"
    return f"{task.strip()} {_PHASES[seen.phase]}{since}{where}".strip()


def _about(seen: HandlerStack) -> list[str]:
    process = [] if seen.pid is None else [f"process {seen.pid}"]
    process += [] if seen.memory_bytes is None else [f"{seen.memory_bytes / _MIB:,.0f} MiB of memory"]
    lines = [f"worker {seen.owner}{': ' if process else ''}{', '.join(process)}"]
    if seen.progress is not None:
        part = "" if seen.progress.fraction is None else f" {seen.progress.fraction:.0%}"
        note = f" {seen.progress.note}" if seen.progress.note else ""
        lines.append(f"progress{part}{note} ({spoken(seen.progress_age_seconds)} ago)")
    return lines


def _standstill(seen: HandlerStack) -> str:
    since = "" if seen.holds_seconds is None else f" for {spoken(seen.holds_seconds)}"
    if seen.holds is Holds.GIL:
        return (
            "Holds the GIL: its process does not answer, so this call does not release the interpreter. "
            f"No other thread of that process moves. {_sentence(seen.note)}"
        ).strip()
    if seen.holds is Holds.LOOP:
        return f"Blocks the worker's event loop{since}: no other async handler of this worker moves."
    if seen.held_up_by is not None:
        return f"Held up{since} by {seen.held_up_by}: {seen.note}."
    return _sentence(seen.note)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}." if note else ""


def _tell_frames(out: "Console", frames: Sequence[StackFrame], left_out: int) -> None:
    from rich.text import Text

    shown = Text()
    for place, frame in enumerate(frames):
        if left_out and place == len(frames) // 2:
            shown.append(f"  … {plural(left_out, 'frame')} left out\n", style="dim")
        shown.append_text(_frame(frame))
    out.print(shown, end="", soft_wrap=True)


def _frame(frame: StackFrame) -> "Text":
    from rich.text import Text

    line = "?" if frame.line is None else frame.line
    text = f'  File "{one_line(frame.file)}", line {line}, in {one_line(frame.function)}\n'
    source = _source(frame)
    return Text(text + (f"    {source}\n" if source else ""), style=_STYLES[frame.kind])


def _source(frame: StackFrame) -> str:
    """The line, where the file is on this machine: a stack that came from elsewhere names files of elsewhere."""
    if frame.line is None or not frame.file.endswith(".py"):
        return ""
    return one_line(linecache.getline(frame.file, frame.line).strip())[:_LONGEST_LINE]
