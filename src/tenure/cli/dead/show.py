"""`tenure dead show`: everything that is known about one message, its bytes included."""

import base64
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.output import STATE_STYLES, console, say_json
from tenure.cli.seen import Seen, look
from tenure.cli.target import find, json_option, run, split
from tenure.errors import MessageNotFound
from tenure.message import MessageState
from tenure.record import Ending, Record
from tenure.verdict import Reason

if TYPE_CHECKING:
    from rich.console import Console

_BROWSABLE = (MessageState.DEAD, MessageState.READY, MessageState.DELAYED, MessageState.LEASED)


@click.command(short_help="Show everything about one: body, history, traceback.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@json_option
def show(words: tuple[str, ...], *, as_json: bool) -> None:
    """Show everything about one message: body, counters, reason, history, traceback.

    It need not be dead: one that was sent back since is shown as it is now.
    """
    target, rest = split(words)
    if len(rest) != 1:
        raise click.UsageError("name one message by its id; without TENURE_URL, after TARGET")
    app = find(target)
    record, seen = run(app, lambda app: _fetch(app, rest[0]))
    if as_json:
        say_json(_as_json(record, seen))
    else:
        _say(console(), record, seen)


async def _fetch(app: Tenure, id: str) -> tuple[Record, Seen | None]:
    record = await app.state.records.get(id)
    if record is None:
        raise MessageNotFound(
            f"no message {id} is known here: it was never sent to this place, or its record has expired"
        )
    if record.state in _BROWSABLE and app.broker.traits.browsable:
        async for one in look(app.broker, [record.queue], [record.state]):
            if one.browsed.id == id:
                return record, one
    return record, None


def _as_json(record: Record, seen: Seen | None) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(record)
    shown["result"] = None if record.result is None else msgspec.Raw(record.result or b"null")
    shown["body"] = shown["raw"] = None
    if seen is not None:
        raw = seen.browsed.envelope
        # Bytes that are no envelope may be no text either: base64 says exactly what is there.
        shown["raw"] = base64.b64encode(raw).decode() if seen.message is None else raw.decode()
        shown["body"] = None if seen.message is None else seen.message.body
    return shown


def _say(out: "Console", record: Record, seen: Seen | None) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    counters = record.counters
    rows.add_row("message", record.id)
    rows.add_row("state", Text(record.state, style=STATE_STYLES[record.state]))
    rows.add_row("task", record.task or "–")
    rows.add_row("queue", record.queue)
    rows.add_row("sent", _time(record.sent_at))
    rows.add_row("finished", _time(record.finished_at))
    rows.add_row(
        "counters",
        f"delivered {counters.deliveries}×, failed {counters.attempts}×, "
        f"crashed {counters.crashes}×, lost {counters.lost}×",
    )
    if seen is not None and seen.message is not None:
        message = seen.message
        about = {"key": message.key, "client": message.client, "correlation": message.correlation_id,
                 "parent": message.parent_id, "generation": message.generation or None}  # fmt: skip
        for name, value in about.items():
            if value is not None:
                rows.add_row(name, str(value))
        for name, value in message.headers.items():
            rows.add_row("header", f"{name}: {value}")
    if record.reason is not None:
        rows.add_row("reason", Text.assemble((record.reason.code, "red"), "  ", record.reason.text))
    out.print(rows)
    _say_history(out, record.history)
    _say_traceback(out, _last_traceback(record))
    _say_body(out, seen)


def _say_history(out: "Console", history: tuple[Ending, ...]) -> None:
    from rich.text import Text

    if not history:
        return
    out.print("\n[bold]history[/]")
    for ending in history:
        why = "" if ending.reason is None else f"{ending.reason.code}: {ending.reason.text}".partition("\n")[0]
        by = f"  {ending.owner}" if ending.owner else ""
        out.print(Text(f"  {_time(ending.at)}  {ending.how:<9}{by}  {why}".rstrip()))


def _last_traceback(record: Record) -> str:
    reasons: list[Reason | None] = [record.reason, *(ending.reason for ending in reversed(record.history))]
    return next((reason.traceback for reason in reasons if reason is not None and reason.traceback), "")


def _say_traceback(out: "Console", traceback: str) -> None:
    if traceback:
        out.print("\n[bold]what the handler raised[/]")
        _say_indented(out, traceback)


def _say_body(out: "Console", seen: Seen | None) -> None:
    if seen is None:
        return
    if seen.message is None:
        raw = seen.browsed.envelope
        out.print(f"\n[bold]raw bytes[/] ({len(raw):,})")
        _say_indented(out, f"{seen.unreadable}\n{raw!r}")
        return
    out.print("\n[bold]body[/]")
    _say_indented(out, msgspec.json.format(bytes(seen.message.body), indent=2).decode())


def _say_indented(out: "Console", text: str) -> None:
    from rich.text import Text

    out.print(Text(textwrap.indent(text.rstrip(), "  ")))


def _time(wall: float | None) -> str:
    if wall is None:
        return "–"
    return datetime.fromtimestamp(wall).astimezone().isoformat(sep=" ", timespec="seconds")
