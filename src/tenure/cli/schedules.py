"""`tenure schedules`: what is sent by itself, when it was last, and when it is next.

An app's code says which schedules there are; the store knows their last ticks. With a URL there is only the store.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.acting import operator
from tenure.cli.duration import spoken
from tenure.cli.naming import near
from tenure.cli.output import STATE_STYLES, WIDE, console, fits, give_way, plain_table, say_json, say_line
from tenure.cli.plain import one_line
from tenure.cli.target import find, is_place, json_option, run, target_argument
from tenure.errors import UnknownSchedule
from tenure.message import MessageState
from tenure.notice import Tick

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One schedule, as far as it is known."""

    name: str
    spec: str
    task: str
    queue: str
    #: Whether the app's code has it. None: there is no code to ask.
    in_app: bool | None
    #: The newest tick. None: there was none yet.
    last_at: float | None = None
    #: The message of that tick. None: the tick was skipped, or there was none.
    message_id: str | None = None
    #: None: it has none, or its record has expired.
    message_state: MessageState | None = None
    next_at: float | None = None


@click.command(short_help="Show the schedules, their last and next ticks.")
@target_argument
@click.option("--forget", metavar="NAME", help="Forget a schedule's last tick; one in the code begins anew.")
@json_option
def schedules(target: str | None, forget: str | None, *, as_json: bool) -> None:
    """Show the schedules, their last and next ticks.

    Schedules stand in an app's code, and its workers send their messages, once for all of them together. "not in
    this app": the store knows it, but the code does not have it (any more); --forget removes what is known of it.
    "overdue": its moment has passed and nobody sent its message; no worker of the app runs.
    """
    app = find(target)
    if forget is not None:
        _forget(app, forget, as_json=as_json)
        return
    rows = run(app, lambda app: _rows(app, has_code=not is_place(target)))
    if as_json:
        say_json({"schedules": rows})
        return
    out = console()
    if not rows:
        out.print("No schedules: none in the code, none known to the store." if not is_place(target)
                  else "No schedules are known here.")  # fmt: skip
        return
    out.print(_table(rows, app.state.wall(), out.width))


async def _rows(app: Tenure, *, has_code: bool) -> list[Row]:
    ticks = {tick.schedule: tick for tick in await app.state.board.ticks() if _is_own(app, tick)}
    now = app.state.wall()
    rows = []
    for name in sorted({*app.schedules, *ticks}):
        tick, schedule = ticks.get(name), app.schedules.get(name)
        state = await _state(app, tick)
        if schedule is not None:
            task, moments = schedule.call.task, schedule.moments
            following = moments.next_after(now if tick is None else min(tick.at, now))
            row = Row(name=name, spec=moments.spec, task=task.name, queue=task.queue, in_app=True,
                      next_at=following if following != float("inf") else None)  # fmt: skip
        else:
            assert tick is not None  # noqa: S101 - a name is from one or the other
            row = Row(name=name, spec=tick.spec, task=tick.task, queue=tick.queue,
                      in_app=False if has_code else None, next_at=tick.next_at)  # fmt: skip
        if tick is not None and not tick.first_seen:
            row = msgspec.structs.replace(
                row, last_at=tick.at, message_id=tick.message_id or None, message_state=state
            )  # fmt: skip
        rows.append(row)
    return rows


def _is_own(app: Tenure, tick: Tick) -> bool:
    return app.namespace is None or tick.schedule.startswith(f"{app.namespace}/")


async def _state(app: Tenure, tick: Tick | None) -> MessageState | None:
    record = None if tick is None or not tick.message_id else await app.state.records.get(tick.message_id)
    return None if record is None else record.state


def _forget(app: Tenure, name: str, *, as_json: bool) -> None:
    async def work(app: Tenure) -> tuple[bool, list[str], str]:
        names = [tick.schedule for tick in await app.state.board.ticks() if _is_own(app, tick)]
        full = name if name in names or app.namespace is None else f"{app.namespace}/{name}"
        return full in names and await operator(app).forget(full), names, full

    forgotten, names, full = run(app, work)
    if not forgotten:
        raise UnknownSchedule(f"nothing was forgotten: no tick of a schedule {name!r} is known{near(full, names)}")
    if as_json:
        say_json({"forgotten": full})
        return
    begins = "; it is in the code, so it begins anew" if full in app.schedules else ""
    say_line(f"Forgotten: {full}{begins}")


# -- for people ------------------------------------------------------------------------------------


def _table(rows: Sequence[Row], wall: float, width: int) -> "Table":
    """One line each where that fits, else two."""
    wide = _wide(rows, wall, width)
    return wide if width >= WIDE or fits(wide, width) else _narrow(rows, wall, width)


def _wide(rows: Sequence[Row], wall: float, width: int) -> "Table":
    table = plain_table("schedule", "when", "task", "queue", "last tick", "its message", "next tick")
    for row in rows:
        table.add_row(_name(row), row.spec, row.task, row.queue, _last(row, wall), _message(row), _next(row, wall))
    give_way(table, width, ("queue", 20), ("task", 20), ("schedule", 30), ("queue", 12), ("task", 12), ("when", 20))
    return table


def _narrow(rows: Sequence[Row], wall: float, width: int) -> "Table":
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


def _name(row: Row) -> "Text":
    from rich.text import Text

    return (
        Text.assemble(one_line(row.name), ("  not in this app", "yellow"))
        if row.in_app is False
        else Text(one_line(row.name))
    )


def _last(row: Row, wall: float) -> str:
    return "never" if row.last_at is None else f"{spoken(wall - row.last_at)} ago"


def _message(row: Row) -> "Text":
    from rich.text import Text

    if row.message_id is None:
        return Text("–" if row.last_at is None else "none sent")
    if row.message_state is None:
        return Text("forgotten", style="dim")
    return Text(row.message_state, style=STATE_STYLES[row.message_state])


def _next(row: Row, wall: float) -> str:
    if row.next_at is None:
        return "–"
    return f"in {spoken(row.next_at - wall)}" if row.next_at > wall else f"overdue {spoken(wall - row.next_at)}"
