"""The life of a message as text for people: its names, what happened when, where it is now, what it carries."""

import base64
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenure.cli.commands.show.account import below, now, sentence
from tenure.cli.terminal.duration import exact, spoken
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.output import STATE_STYLES
from tenure.cli.terminal.plain import one_line, plain_lines
from tenure.client.operations.children import ChildList
from tenure.client.operations.groups import MessageGroup
from tenure.client.operations.life import Step
from tenure.client.operations.message_detail import MessageDetail
from tenure.message import DEFAULT_PRIORITY, MessageState
from tenure.rules.sendable import is_too_deep
from tenure.tasks.kept_payload import KEPT_BYTES
from tenure.text.plural import plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

#: Without --full: this many lines of a payload or a result.
_PAYLOAD_LINES = 20
_INDENT = 4
#: Without --full: this many of the messages that it has handed on.
_CHILDREN_SHOWN = 10
#: So much of a header's name is shown.
_LONGEST_NAME = 40

_STYLES = {
    "sent": "cyan", "completed": "green", "failed": "yellow", "crashed": "yellow", "lost": "yellow",
    "returned": "yellow", "lease_lost": "yellow", "late_settle": "yellow", "dead": "red", "redriven": "cyan",
    "cancelled": "dim", "duplicate": "dim",
}  # fmt: skip


def tell(out: "Console", found: MessageDetail, wall: float, *, full: bool, handed_on: ChildList | None = None) -> None:
    """Print the whole account on a console."""
    _tell_who(out, found)
    _tell_life(out, found, wall, full=full)
    if handed_on is not None and handed_on.children:
        _tell_children(out, handed_on, full=full)
    _tell_payload(out, found, full=full)
    if found.result is not None:
        _tell_json(out, "result", bytes(found.result) or b"null", full=full)


def _tell_who(out: "Console", found: MessageDetail) -> None:
    from rich.text import Text

    from tenure.cli.terminal.screen import OneLineTable

    about = {_short(name): value for name, value in _about(found).items()}
    widest = max(map(len, ("message", *about)))
    # No cell of the table: an id that is longer than the terminal is wide must not get a line break of ours.
    head = Text.assemble(("message".ljust(widest), "dim"), "  ", (one_line(found.id), "bold"))
    out.print(head, soft_wrap=True)
    rows = OneLineTable.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True, min_width=widest)
    rows.add_column(overflow="fold")
    rows.add_row("task", Text(one_line(found.task or "– (its envelope cannot be read)")))
    rows.add_row("queue", Text(one_line(found.queue)))
    for name, value in about.items():
        rows.add_row(name, Text(one_line(value)))
    out.print(rows)


def _short(name: str) -> str:
    """A name as long as the terminal is wide would leave no room for any value."""
    shown = one_line(name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[:_LONGEST_NAME]}…"


def _about(found: MessageDetail) -> dict[str, str]:
    """Return the sender's options that are still known and differ from the defaults."""
    message = found.message
    counters = found.counters
    about: dict[str, str | None] = {}
    if message is not None:
        overrides = message.overrides
        about = {
            "client": message.client,
            "priority": None if message.priority == DEFAULT_PRIORITY else str(message.priority),
            "key": message.key,
            "unique": _unique(message.unique),
            "correlation": message.correlation_id,
            "parent": message.parent_id,
            "expires": None if message.expires_at is None else local(message.expires_at),
            "lease": None if overrides.lease_seconds is None else spoken(overrides.lease_seconds),
            "attempts": None if overrides.max_attempts is None else f"at most {overrides.max_attempts}",
            "max hold": None if overrides.max_hold_seconds is None else spoken(overrides.max_hold_seconds),
            "redriven": f"{message.generation}×" if message.generation else None,
        }
        about |= {f"header {name}": value for name, value in message.headers.items()}
    if found.group is not None:
        what = "follows" if found.group.is_last else "member of"
        about["group"] = f"{what} {found.group.id} ({found.group.state.value}, {_far(found.group)})"
    about["counters"] = (
        f"delivered {counters.deliveries}×, failed {counters.attempts}×, crashed {counters.crashes}×, "
        f"lost {counters.lost}×"
        if counters is not None
        else "not kept once a message is completed"
    )
    return {name: value for name, value in about.items() if value is not None}


def _far(group: MessageGroup) -> str:
    return f"{group.ended:,} of {plural(group.total, 'member')} have ended"


def _unique(unique: str | None) -> str | None:
    """The selection as a phrase: a word, or one message a payload."""
    if unique is None:
        return None
    return "by its payload" if unique.startswith("payload:") else unique.removeprefix("word:")


# -- what happened ---------------------------------------------------------------------------------


def _tell_life(out: "Console", found: MessageDetail, wall: float, *, full: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    line = _AccountLine(found)
    first = found.life[0].at if found.life else wall
    day, shown = "", ""
    out.print()
    for step in found.life:
        moment = datetime.fromtimestamp(step.at).astimezone()
        if f"{moment:%Y-%m-%d}" != day:
            day = f"{moment:%Y-%m-%d}"
            out.print(Text(f"{day} {'UTC' if not moment.utcoffset() else f'UTC{moment:%z}'}", style="dim"))
        since = f"+{exact(step.at - first)}" if step.what != "sent" else ""
        what = Text(_word(step), style=_STYLES.get(step.what, ""))
        out.print(line(f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}", since, what, sentence(step)))
        # Below and not beside: a traceback in a narrow column cannot be read.
        for why in below(step, shown, full=full):
            out.print(Padding(Text(why), (0, 0, 0, _INDENT)))
        shown = step.reason.traceback if step.reason is not None and step.reason.traceback else shown
    state = found.state
    out.print(line("now", "", Text(state, style=STATE_STYLES[state]), now(found, wall)))


class _AccountLine:
    """One line of the account; all of them have the same columns."""

    def __init__(self, found: MessageDetail) -> None:
        first = found.life[0].at if found.life else 0.0
        self._since = max((len(exact(step.at - first)) + 1 for step in found.life), default=0)
        self._what = max(len(word) for word in (found.state, *map(_word, found.life)))

    def __call__(self, time: str, since: str, what: "Text", text: str) -> "Table":
        from rich.text import Text

        from tenure.cli.terminal.screen import OneLineTable

        row = OneLineTable.grid(padding=(0, 2))
        row.add_column(width=len("00:00:00.000"), style="dim" if since or time != "now" else "bold")
        row.add_column(width=self._since, style="dim", justify="right")
        row.add_column(width=self._what)
        row.add_column(overflow="fold")
        row.add_row(time, since, what, Text(text))
        return row


def _word(step: Step) -> str:
    return step.what.replace("_", " ")


def _tell_children(out: "Console", handed_on: ChildList, *, full: bool) -> None:
    from rich.text import Text

    children = handed_on.children
    out.print(Text.assemble("\n", ("handed on", "bold"), f"  {plural(len(children), 'message')}"))
    shown = children if full else children[:_CHILDREN_SHOWN]
    for one in shown:
        state = (one.state.value, STATE_STYLES[one.state])
        task, queue = one_line(one.task or "?"), one_line(one.queue)
        # Never broken within the id: it is copied from here.
        out.print(Text.assemble(" " * _INDENT, one_line(one.id), f"  {task} in {queue}  ", state), soft_wrap=True)
    left = len(children) - len(shown)
    if left or handed_on.more:
        more = f"{left} more; --full shows them" if left else "perhaps more: the search stopped here"
        out.print(Text(f"{' ' * _INDENT}… {more}", style="dim"))


# -- what it carries -------------------------------------------------------------------------------


def _tell_payload(out: "Console", found: MessageDetail, *, full: bool) -> None:
    from rich.text import Text

    raw, kept = found.raw, found.kept_payload
    if raw is None and kept is not None:
        cut = "" if kept.is_whole else f", the first {KEPT_BYTES:,} of {kept.size:,} bytes"
        _tell_json(out, f"payload (kept by keep_payload{cut})", kept.text.encode(), full=full)
    elif raw is None:
        gone = found.state in (MessageState.COMPLETED, MessageState.CANCELLED)
        why = f"not kept once a message is {found.state}" if gone else "this broker cannot show it"
        why += "; keep_payload=True keeps it" if found.state is MessageState.COMPLETED else ""
        out.print(Text.assemble("\n", ("payload", "bold"), (f"  {why}", "dim")))
    elif found.message is None:
        whole = base64.b64decode(raw)
        out.print(Text.assemble("\n", ("raw bytes", "bold"), (f"  {len(whole):,}, which are not an envelope", "dim")))
        _indented(out, f"{found.unreadable}\n{whole!r}", full=full)
    elif found.message.ticket is not None:
        ticket = found.message.ticket
        out.print()
        where = one_line(f"  {ticket.size:,} bytes at {ticket.place}")
        out.print(Text.assemble(("payload", "bold"), where), soft_wrap=True)
    else:
        _tell_json(out, "payload", bytes(found.message.body), full=full)


def _tell_json(out: "Console", name: str, raw: bytes, *, full: bool) -> None:
    out.print(f"\n{name}", style="bold")
    try:
        # Nested too deep, the indentation alone would be a hundred megabytes.
        text = repr(raw) if is_too_deep(raw) else msgspec.json.format(raw, indent=2).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = repr(raw)  # it was overwritten from outside: shown as it is
    _indented(out, text, full=full)


def _indented(out: "Console", text: str, *, full: bool) -> None:
    from rich.text import Text

    lines = plain_lines(text).rstrip().split("\n")
    longest = _PAYLOAD_LINES * out.width
    cut = lines if full else _cut(lines[:_PAYLOAD_LINES], longest)
    out.print(Text(textwrap.indent("\n".join(cut), "  ")))
    if cut != lines:
        out.print(
            f"  … {plural(len(text), 'character')} in {plural(len(lines), 'line')}; --full shows all", style="dim"
        )


def _cut(lines: list[str], longest: int) -> list[str]:
    """Cut a line to this many characters: it can be a megabyte long."""
    kept: list[str] = []
    for line in lines:
        kept.append(line[:longest])
        longest -= len(line)
        if longest <= 0:
            break
    return kept
