"""`tenure messages`: what lies in the queues, message by message."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.cli.duration import countdown, spoken
from tenure.cli.output import STATE_STYLES, WIDE, console, plain_table, plural, say_json
from tenure.cli.seen import Seen, look, queues_of
from tenure.cli.target import find, json_option, run, target_argument
from tenure.message import MessageState

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: What is being worked on comes first; the dead have a command of their own.
_STATES = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


@click.command(short_help="Show the messages in the queues, changing nothing.")
@target_argument
@click.option("--queue", "-q", help="Of this queue only.")
@click.option("--state", "-s", type=click.Choice([state.value for state in _STATES]), help="In this state only.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@json_option
def messages(target: str | None, queue: str | None, state: str | None, limit: int, *, as_json: bool) -> None:
    """Show the messages in the queues, changing nothing.

    "left" counts a lease down to its end, or a delay to its due time; "Overdue" leases are returned by the next
    sweep. Looking at a message does not count as a delivery.
    """
    app = find(target)
    states = _STATES if state is None else (MessageState(state),)
    seen = run(app, lambda app: _collect(app, queue, states, limit + 1))
    shown, more = seen[:limit], len(seen) > limit
    wall = app.clock.wall()
    if as_json:
        say_json({"messages": [one.as_json(wall) for one in shown], "more": more})
        return
    out = console()
    if not shown:
        out.print("No such messages.")
        return
    out.print(table(shown, wall, out.width))
    if more:
        out.print(f"[dim]The first {plural(limit, 'message')}; --limit shows more.[/]")


async def _collect(app: Tenure, queue: str | None, states: Sequence[MessageState], limit: int) -> list[Seen]:
    queues = await queues_of(app.broker, queue)
    return [one async for one in look(app.broker, queues, states, limit)]


def table(seen: Sequence[Seen], wall: float, width: int) -> "Table":
    """One row a message; where the terminal is narrow, on two lines."""
    return _wide(seen, wall) if width >= WIDE else _narrow(seen, wall, width)


def _wide(seen: Sequence[Seen], wall: float) -> "Table":
    figures = ("failed", "crashed", "lost", "left", "age")
    rows = plain_table("id", "queue", "task", "state", *figures, "owner", "reason", right=figures)
    rows.columns[-1].overflow = "ellipsis"
    for one in seen:
        browsed, counters = one.browsed, one.browsed.counters
        rows.add_row(
            browsed.id, browsed.queue, one.task or "–", _state(one),
            str(counters.attempts), str(counters.crashes), str(counters.lost),
            _left(one), spoken(one.age_seconds(wall)), browsed.owner or "–", _reason(one),
        )  # fmt: skip
    return rows


def _narrow(seen: Sequence[Seen], wall: float, width: int) -> "Table":
    from rich.text import Text

    rows = plain_table("id / reason", "task / owner", "state", "f/c/l", "left", right=("left",))
    first, second, *others = rows.columns
    for column, least in zip(others, (9, 5, 11), strict=True):
        column.min_width = least
    # The id is what people copy: an owner's name gives way before it does.
    first.overflow = second.overflow = "ellipsis"
    first.max_width = 32
    second.max_width = max(8, width - 32 - 9 - 5 - 11 - 2 * 4)
    for one in seen:
        counters = one.browsed.counters
        below = Text(_reason(one), style="dim")
        rows.add_row(
            Text.assemble(one.browsed.id, "\n", below) if below.plain else one.browsed.id,
            Text.assemble(one.task or "–", "\n", (one.browsed.owner, "dim")) if one.browsed.owner else one.task,
            Text.assemble(_state(one), "\n", (spoken(one.age_seconds(wall)), "dim")),
            f"{counters.attempts}/{counters.crashes}/{counters.lost}",
            _left(one),
        )
    rows.caption = "f/c/l: attempts failed, workers crashed, leases lost"
    rows.caption_justify = "left"
    return rows


def _state(one: Seen) -> "Text":
    from rich.text import Text

    return Text(one.browsed.state, style=STATE_STYLES[one.browsed.state])


def _left(one: Seen) -> str:
    if one.browsed.due_in is not None:
        return spoken(one.browsed.due_in)
    return countdown(one.browsed.deadline_in)


def _reason(one: Seen) -> str:
    if one.browsed.reason is not None:
        return f"{one.browsed.reason.code}: {one.browsed.reason.text}".partition("\n")[0]
    return one.unreadable
