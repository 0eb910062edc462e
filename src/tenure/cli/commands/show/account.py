"""The sentences of the account: what happened, why, and where the message is now. Drawn by `telling.py`."""

import textwrap
from collections.abc import Callable, Iterator

from tenure.cli.terminal.duration import countdown, exact, spoken
from tenure.cli.terminal.plain import one_line, plain_lines
from tenure.cli.terminal.queue_words import since
from tenure.client.operations.life import Step
from tenure.client.operations.message_detail import MessageDetail
from tenure.message import MessageState
from tenure.record import Progress
from tenure.rules.duplicate_cause import DuplicateCause
from tenure.text.plural import plural
from tenure.text.traceback_text import shorten_lines
from tenure.timing.why import amount
from tenure.verdict import Reason

#: What comes back sooner comes back at once, for people.
_AT_ONCE = 0.01
#: Without --full: this many lines of each traceback's begin and of its end.
_TRACEBACK_LINES = 6


def sentence(step: Step) -> str:
    """Say in a line what happened; the table has its time and its name already."""
    tell = _SENTENCES.get(step.what, _other)
    return one_line(tell(step))


def _run(step: Step) -> str:
    """Describe a run: its number, how long it took, when the message comes again, and where it was."""
    took = "" if step.seconds is None else f" after {exact(step.seconds)}"
    again = "" if step.after_seconds is None else f", again in {exact(step.after_seconds)}"
    on = f", on {step.owner}" if step.owner else ""
    return f"{'a run' if step.attempt is None else f'attempt {step.attempt}'}{took}{again}{on}"


def _again(step: Step) -> str:
    if step.after_seconds is None:
        return ""
    return (
        f"; ready again in {exact(step.after_seconds)}" if step.after_seconds >= _AT_ONCE else "; ready again at once"
    )


def _holder(step: Step) -> str:
    return step.owner or "its worker"


def _noticed(step: Step) -> str:
    return "" if step.noticed_at is None else f"; it noticed {exact(step.noticed_at - step.at)} later"


def _cancelled(step: Step) -> str:
    running = f"it was running on {step.owner}{_noticed(step)}" if step.owner else ""
    instead = f"sent again to {step.data['to']} as {step.data['new_id']}" if "new_id" in step.data else ""
    return ", ".join(part for part in (step.act, f"by {step.by}" if step.by else "", instead, running) if part)


def _by(step: Step) -> str:
    return f", by {step.by}" if step.by else ""


def _other(step: Step) -> str:
    parts = [step.owner] if step.owner else []
    return ", ".join(parts + [f"{name} {value}" for name, value in step.data.items()])


def _sized(step: Step) -> str:
    """Say how large its handler found the work to be."""
    size, seconds = step.data.get("file_size_bytes"), step.data.get("estimated_processing_seconds")
    usual = f"; such runs take about {exact(seconds)}" if isinstance(seconds, int | float) else ""
    return f"{amount(size) if isinstance(size, int | float) else 'of an unknown size'}{usual}, said {_holder(step)}"


def _duplicate(step: Step) -> str:
    why = _CAUSED.get(step.cause, "why it came again is not known")
    return f"already completed; {why}; {_holder(step)} only deleted it"


def _received(step: Step) -> str:
    deliveries = step.data.get("deliveries")
    return f"delivery {deliveries}, by {_holder(step)}"


def _processed(step: Step) -> str:
    left = step.data.get("lease_left_seconds")
    risk = ", at risk" if step.data.get("timeout_risk") else ""
    rest = f"; {exact(left)} of its lease were left{risk}" if isinstance(left, int | float) else ""
    return f"{_run(step)}: {str(step.data.get('outcome')).replace('_', ' ')}{rest}"


def _beats(step: Step) -> str:
    count, total = int(step.data.get("extension_count", 0)), step.data.get("total_extended_seconds")
    return f"{plural(count, 'renewal')}, {exact(total)} in all, by {_holder(step)}"


#: Why a message came again.
_CAUSED: dict[DuplicateCause | None, str] = {
    DuplicateCause.EXPIRED_MID_RUN: "its lease ended while it ran",
    DuplicateCause.DELETE_FAILED: "its delete had not worked",
    DuplicateCause.SENT_AGAIN: "it was sent again",
    DuplicateCause.REDELIVERED: "its queue delivered it again although it was deleted",
    DuplicateCause.REDRIVEN: "it was redriven",
}
_TRIGGERS = {"scheduler": "a sweep", "liveness": "the process that found its worker gone", "cli": "tenure sweep"}

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
    "promoted": lambda step: f"made ready before its time{_by(step)}",
    "touched": lambda step: f"its lease lasts at least {exact(step.data.get('seconds'))} from here{_by(step)}",
    "duplicate": _duplicate,
    "late_settle": lambda step: f"{_run(step)}: {_CAUSED.get(step.cause, 'too late')}, so nothing was changed",
    "received": _received,
    "processed": _processed,
    "deletion": lambda step: f"{str(step.data.get('result')).replace('_', ' ')}, by {_holder(step)}",
    "heartbeat_started": lambda step: f"by {_holder(step)}, a beat every {exact(step.data.get('interval_seconds'))}",
    "heartbeat_extended": _beats,
    "heartbeat_stats": _beats,
    "lease_lost": lambda step: f"{_holder(step)} noticed, and settled nothing",
    "file_size_detected": _sized,
    "ticked": lambda step: f"also counts for another tick of schedule {step.act}",
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
    """Say where it is, and what it waits for; its progress has a line of its own."""
    far = _far(found.progress) if found.state is MessageState.LEASED else ""
    return "\n".join(filter(None, map(one_line, (_where(found, wall), far))))


def _where(found: MessageDetail, wall: float) -> str:
    pause = found.paused
    stopped = "" if pause is None else f"; its queue is paused {since(pause, wall)}"
    match found.state:
        case MessageState.READY:
            waits = f"waits for its limit ({found.limit})" if found.waits_for_limit else "waits for a worker"
            return f"{waits}{stopped}"
        case MessageState.DELAYED:
            return f"due in {spoken(found.due_in)}{stopped}"
        case MessageState.LEASED:
            left = "" if found.deadline_in is None else f", lease {_lease(found.deadline_in)}"
            sized = "" if found.size is None else f" of size {amount(found.size)}"
            usual = "" if found.usual_seconds is None else f"; runs{sized} usually take {exact(found.usual_seconds)}"
            who = found.owner or "an unknown worker"
            return f"attempt {found.attempt} on {who}{left}{usual}"
        case MessageState.DEAD:
            return "until it is redriven or deleted"
    return f"for {spoken(wall - found.finished_at)}" if found.finished_at is not None else ""


def _lease(seconds: float) -> str:
    return countdown(seconds).lower() if seconds < 0 else f"ends in {countdown(seconds)}"


def _far(progress: Progress | None) -> str:
    if progress is None:
        return ""
    parts = [] if progress.fraction is None else [f"{progress.fraction:.0%}"]
    return " ".join([*parts, progress.note]).rstrip()
