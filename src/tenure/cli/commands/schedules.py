"""`tenure schedules`: what is sent by itself, when it was last, and when it is next.

`schedule_acts.py` runs, pauses and resumes one.

An app's code says which schedules there are; the store knows their last ticks. With a URL there is only the store.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.cli.lazy import ListingGroup
from tenure.cli.target import find, is_place, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import STATE_STYLES, WIDE, console, fits, give_way, plain_table, say_json, say_line
from tenure.cli.terminal.plain import one_line
from tenure.errors import UnknownSchedule

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from tenure.client.operations.schedules import ScheduleStatus


_TABLE = {
    "list": ("tenure.cli.commands.schedules:list_", "Show the schedules, their last and next ticks."),
    "run": ("tenure.cli.commands.schedule_acts:run_", "Send one message of a schedule now."),
    "pause": ("tenure.cli.commands.schedule_acts:pause", "Send nothing for a schedule's ticks until it is resumed."),
    "resume": ("tenure.cli.commands.schedule_acts:resume", "Let a paused schedule go on with its next tick."),
}


@click.group(cls=ListingGroup, table=_TABLE, short_help="Show the schedules; run, pause or resume one.")
def schedules() -> None:
    """Show the schedules, their last and next ticks; run one now, pause it, resume it.

    `tenure schedules TARGET` is short for `tenure schedules list TARGET`.
    """


@click.command("list", short_help="Show the schedules, their last and next ticks.")
@target_argument
@click.option("--forget", metavar="NAME", help="Forget a schedule's last tick; a schedule in the code starts over.")
@json_option
def list_(target: str | None, forget: str | None, *, as_json: bool) -> None:
    """Show the schedules, their last and next ticks.

    Schedules stand in an app's code, and its workers send their messages, once for all of them together. "not in
    this app": the store knows it, but the code does not have it (any more); --forget removes what is known of it.
    "overdue": its moment has passed and its message was not sent, because no worker of the app runs.
    """
    app = find(target)
    if forget is not None:
        _forget(app, forget, as_json=as_json)
        return
    found = run(app, lambda app: app.operate.schedules())
    if as_json:
        say_json(found)
        return
    rows = found.schedules
    out = console()
    if not rows:
        out.print(
            "No schedules: none in the code, none known to the store."
            if not is_place(target)
            else "No schedules are known here."
        )
        return
    out.print(_table(rows, app.state.wall(), out.width))


def _forget(app: Tenure, name: str, *, as_json: bool) -> None:
    forgotten = run(app, lambda app: app.operate.forget_schedule(name))
    if not forgotten.changed:
        raise UnknownSchedule(f"nothing was forgotten: no tick of schedule {forgotten.name!r} is known")
    if as_json:
        say_json({"forgotten": forgotten.name})
        return
    begins = "; it is in the code, so it starts over" if forgotten.name in app.schedules else ""
    say_line(f"Forgotten: {forgotten.name}{begins}")


# -- for people ------------------------------------------------------------------------------------


def _table(rows: "Sequence[ScheduleStatus]", wall: float, width: int) -> "Table":
    """Draw one line each where that fits, else two."""
    wide = _wide(rows, wall, width)
    return wide if width >= WIDE or fits(wide, width) else _narrow(rows, wall, width)


def _wide(rows: "Sequence[ScheduleStatus]", wall: float, width: int) -> "Table":
    table = plain_table("schedule", "when", "task", "queue", "last tick", "its message", "next tick")
    for row in rows:
        table.add_row(_name(row), row.spec, row.task, row.queue, _last(row, wall), _message(row), _next(row, wall))
    give_way(table, width, ("queue", 20), ("task", 20), ("schedule", 30), ("queue", 12), ("task", 12), ("when", 20))
    return table


def _narrow(rows: "Sequence[ScheduleStatus]", wall: float, width: int) -> "Table":
    from rich.text import Text

    table = plain_table("schedule / when", "task / queue", "last tick / its message", "next tick")
    for row in rows:
        table.add_row(
            Text.assemble(_name(row), "\n", (one_line(row.spec), "dim")),
            Text.assemble(one_line(row.task), "\n", (one_line(row.queue), "dim")),
            Text.assemble(_last(row, wall), "\n", _message(row)),
            _next(row, wall),
        )
    # When it ticks is what people look for: names give way before it does.
    give_way(table, width, ("task / queue", 12), ("schedule / when", 15))
    return table


def _name(row: "ScheduleStatus") -> "Text":
    from rich.text import Text

    marks = [("  not in this app", "yellow")] if row.in_app is False else []
    marks += [("  paused", "yellow")] if row.paused is not None else []
    return Text.assemble(one_line(row.name), *marks)


def _last(row: "ScheduleStatus", wall: float) -> str:
    return "never" if row.last_at is None else f"{spoken(wall - row.last_at)} ago"


def _message(row: "ScheduleStatus") -> "Text":
    from rich.text import Text

    if row.message_id is None:
        return Text("–" if row.last_at is None else "none sent")
    if row.message_state is None:
        return Text("forgotten", style="dim")
    return Text(row.message_state, style=STATE_STYLES[row.message_state])


def _next(row: "ScheduleStatus", wall: float) -> str:
    if row.next_at is None:
        return "–"
    return f"in {spoken(row.next_at - wall)}" if row.next_at > wall else f"overdue {spoken(wall - row.next_at)}"
