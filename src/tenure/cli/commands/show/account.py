"""The sentences of the account: what happened, why, and where the message is now. Drawn by `telling.py`."""

import textwrap
from collections.abc import Callable, Iterator

from tenure.cli.duration import countdown, exact, spoken
from tenure.cli.naming import since
from tenure.cli.plain import one_line, plain_lines
from tenure.client.operations.life import Step
from tenure.client.operations.message_detail import MessageDetail
from tenure.message import MessageState
from tenure.record import Progress
from tenure.timing.why import amount
from tenure.traceback_text import shorten_lines
from tenure.verdict import Reason

#: Without --full: so many lines of each traceback's begin and of its end.
_TRACEBACK_LINES = 6


def sentence(step: Step) -> str:
    """What happened, in a line; the table has its time and its name already."""
    tell = _SENTENCES.get(step.what, _other)
    return one_line(tell(step))


def _run(step: Step) -> str:
    """Which run it was, how long it took, when it comes again, and where it was."""
    took = "" if step.seconds is None else f" after {exact(step.seconds)}"
    again = "" if step.after_seconds is None else f", again in {exact(step.after_seconds)}"
    on = f", on {step.owner}" if step.owner else ""
    return f"{'a run' if step.attempt is None else f'attempt {step.attempt}'}{took}{again}{on}"


def _again(step: Step) -> str:
    return "" if step.after_seconds is None else f"; lent again in {exact(step.after_seconds)}"


def _holder(step: Step) -> str:
    return step.owner or "its worker"


def _noticed(step: Step) -> str:
    return "" if step.noticed_at is None else f"; it noticed {exact(step.noticed_at - step.at)} later"


def _cancelled(step: Step) -> str:
    running = f"it was running on {step.owner}{_noticed(step)}" if step.owner else ""
    instead = f"sent again to {step.data['to']} as {step.data['new_id']}" if "new_id" in step.data else ""
    return ", ".join(part for part in (step.act, f"by {step.by}" if step.by else "", instead, running) if part)


def _other(step: Step) -> str:
    parts = [step.owner] if step.owner else []
    return ", ".join(parts + [f"{name} {value}" for name, value in step.data.items()])


def _sized(step: Step) -> str:
    """How large its handler found the work to be."""
    size, seconds = step.data.get("file_size_bytes"), step.data.get("estimated_processing_seconds")
    usual = f"; such runs take about {exact(seconds)}" if isinstance(seconds, int | float) else ""
    return f"{amount(size) if isinstance(size, int | float) else 'of an unknown size'}{usual}, said {_holder(step)}"


_TRIGGERS = {"scheduler": "a sweep", "liveness": "whoever found its worker gone", "cli": "tenure sweep"}

_SENTENCES: dict[str, Callable[[Step], str]] = {
    "sent": lambda step: f"by schedule {step.act}" if step.act else "",
    "completed": lambda step: _run(step) if step.owner or step.attempt is not None else "",
    "failed": _run,
    "crashed": lambda step: f"{_holder(step)} died while holding it",
    "lost": lambda step: f"{_holder(step)} let its lease end: how that run ended is unknown{_noticed(step)}",
    "snoozed": lambda step: f"by its handler on {_holder(step)}, uncounted{_again(step)}",
    "given_back": lambda step: f"by {_holder(step)}, uncounted{_again(step)}",
    "returned": lambda step: f"to its queue, by {_TRIGGERS.get(step.triggered_by or '', 'a sweep')}",
    "dead": lambda step: "" if step.attempt is None else _run(step),
    "redriven": lambda step: f"by {step.by}" if step.by else "",
    "cancelled": _cancelled,
    "duplicate": lambda step: f"known as done: {_holder(step)} only deleted it",
    "lease_lost": lambda step: f"{_holder(step)} noticed, and settled nothing",
    "file_size_detected": _sized,
    "ticked": lambda step: f"stands for another tick of schedule {step.act}",
}


def below(step: Step, shown: str, *, full: bool) -> Iterator[str]:
    """Why, and where in the code."""
    if step.reason is None:
        return
    yield _why(step.reason)
    traceback = plain_lines(step.reason.traceback.rstrip())
    if not traceback:
        return
    if step.reason.traceback == shown:
        if step.what != "dead":  # whose traceback is always that of its last failure
            yield "(the same traceback as before)"
        return
    if full:
        yield textwrap.indent(traceback, "  ")
        return
    yield textwrap.indent(shorten_lines(traceback, _TRACEBACK_LINES, _TRACEBACK_LINES).rstrip(), "  ")


def _why(reason: Reason) -> str:
    text = plain_lines(reason.text.rstrip())
    code = one_line(reason.code)
    return f"{code}: {text}" if text else code


# -- where it is now -------------------------------------------------------------------------------


def now(found: MessageDetail, wall: float) -> str:
    """Where it is, and what it waits for; how far it is stands on a line of its own."""
    far = _far(found.progress) if found.state is MessageState.LEASED else ""
    return "\n".join(filter(None, map(one_line, (_where(found, wall), far))))


def _where(found: MessageDetail, wall: float) -> str:
    pause = found.paused
    stopped = "" if pause is None else f"; its queue is paused {since(pause, wall)}"
    match found.state:
        case MessageState.READY:
            return f"waits for a worker{stopped}"
        case MessageState.DELAYED:
            return f"due in {spoken(found.due_in)}{stopped}"
        case MessageState.LEASED:
            left = "" if found.deadline_in is None else f", lease {_lease(found.deadline_in)}"
            sized = "" if found.size is None else f" of size {amount(found.size)}"
            usual = "" if found.usual_seconds is None else f"; runs{sized} usually take {exact(found.usual_seconds)}"
            who = found.owner or "an unknown worker"
            return f"attempt {found.attempt} on {who}{left}{usual}"
        case MessageState.DEAD:
            return "until somebody redrives or deletes it"
    return f"for {spoken(wall - found.finished_at)}" if found.finished_at is not None else ""


def _lease(seconds: float) -> str:
    return countdown(seconds).lower() if seconds < 0 else f"ends in {countdown(seconds)}"


def _far(progress: Progress | None) -> str:
    if progress is None:
        return ""
    parts = [] if progress.fraction is None else [f"{progress.fraction:.0%}"]
    return " ".join([*parts, progress.note]).rstrip()
