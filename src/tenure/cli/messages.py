"""`tenure messages`: what lies in the queues, message by message."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.duration import countdown, spoken
from tenure.cli.finished import FINISHED, newest
from tenure.cli.naming import check_known, full_name, known_queues, paused, queues_of, since
from tenure.cli.output import STATE_STYLES, console, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.seen import Seen, check_shown, hidden_states, instead, look
from tenure.cli.target import find, json_option, run, target_argument
from tenure.message import MessageState
from tenure.notice import Pause

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: What is being worked on comes first. What is finished is shown only when it is asked for.
_OPEN = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)

#: From how many columns on a message has one line, and from how many every figure a column of its own.
_ONE_LINE, _ALL_COLUMNS = 110, 170
#: So much of a queue's or task's name is shown where every column counts.
_MEDIUM_NAME = 14
#: Between two columns.
_GAP = 2


class _Answer(msgspec.Struct, frozen=True):
    """What was found."""

    seen: list[Seen]
    pauses: list[Pause]


@click.command(short_help="Show messages, changing nothing.")
@target_argument
@click.option("--queue", "-q", help="Of this queue only.")
@click.option(
    "--state", "-s", type=click.Choice([state.value for state in (*_OPEN, *FINISHED)]), help="In this state only."
)
@click.option("--task", "-t", help="Of this task only.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@json_option
def messages(
    target: str | None, queue: str | None, state: str | None, task: str | None, limit: int, *, as_json: bool
) -> None:
    """Show messages, changing nothing: what waits, runs or is dead; with --state also what is finished.

    "left" counts a lease down to its end, or a delay to its due time; "Overdue" leases are returned by the next
    sweep. Looking at a message does not count as a delivery. Of the finished ones the newest are shown first.
    """
    app = find(target)
    states = _OPEN if state is None else (MessageState(state),)
    answer = run(app, lambda app: _collect(app, queue, states, task, limit + 1))
    hidden = hidden_states(app.broker, states)
    shown, more = answer.seen[:limit], len(answer.seen) > limit
    wall = app.clock.wall()
    if as_json:
        messages = [one.as_json(wall) for one in shown]
        say_json({"messages": messages, "more": more, "hidden": hidden, "paused": answer.pauses})
        return
    out = console()
    if shown or not hidden:
        out.print(table(shown, wall, out.width) if shown else _nothing(queue, state, task), soft_wrap=not shown)
    if hidden:
        out.print(f"{'' if shown else 'Nothing to show: '}{instead(hidden)}.", markup=False, soft_wrap=True)
    if more:
        out.print(f"The first {plural(limit, 'message')}; --limit shows more.", style="dim")
    for pause in answer.pauses:
        out.print(_paused(pause, wall))


async def _collect(
    app: Tenure, queue: str | None, states: Sequence[MessageState], task: str | None, limit: int
) -> _Answer:
    if states[0] in FINISHED:
        names = sorted(await known_queues(app)) if queue is None else [full_name(app, queue)]
        seen = await newest(app, names, states[0], task, limit)
    else:
        seen = await _open(app, queue, states, task, limit)
    if queue is not None and not seen:
        await check_known(app, [full_name(app, queue)])
    pauses = [pause for pause in await paused(app) if queue is None or pause.queue == full_name(app, queue)]
    return _Answer(seen, pauses)


async def _open(
    app: Tenure, queue: str | None, states: Sequence[MessageState], task: str | None, limit: int
) -> list[Seen]:
    seen: list[Seen] = []
    if len(states) == 1:
        check_shown(app.broker, states)
    states = [state for state in states if state in app.broker.traits.browsable]
    # With a task we cannot know how many must be looked at to find so many.
    async for one in look(app.broker, await queues_of(app, queue), states, limit if task is None else None):
        if task is None or one.task == task:
            seen.append(one)
            if len(seen) == limit:
                break
    return seen


def _paused(pause: Pause, wall: float) -> "Text":
    from rich.text import Text

    rest = one_line(f" {since(pause, wall)}: nothing of it is leased.")
    return Text.assemble((one_line(f"{pause.queue} is paused"), "yellow"), rest)


def _nothing(queue: str | None, state: str | None, task: str | None) -> str:
    if queue is None and state is None and task is None:
        return "No messages: nothing waits, runs or is dead here."
    what = f"No {state} message" if state else "No message"
    return f"{what}{f' of task {task!r}' if task else ''}{f' in queue {queue!r}' if queue else ''}."


def table(seen: Sequence[Seen], wall: float, width: int) -> "Table":
    """One row a message; where the terminal is narrow, on two lines."""
    if width >= _ALL_COLUMNS:
        return _wide(seen, wall)
    return _medium(seen, wall, width) if width >= _ONE_LINE else _narrow(seen, wall, width)


def _wide(seen: Sequence[Seen], wall: float) -> "Table":
    figures = ("failed", "crashed", "lost", _last_column(seen), "age")
    rows = plain_table("id", "queue", "task", "state", *figures, "owner", "reason", right=figures)
    rows.columns[-1].overflow = "ellipsis"
    for one in seen:
        browsed, counters = one.browsed, one.browsed.counters
        rows.add_row(
            browsed.id, browsed.queue, one.task or "–", _state(one),
            str(counters.attempts), str(counters.crashes), str(counters.lost),
            _left(one, wall), spoken(one.age_seconds(wall)), browsed.owner or "–", _reason(one),
        )  # fmt: skip
    return rows


def _medium(seen: Sequence[Seen], wall: float, width: int) -> "Table":
    """One line each: the counters in one column, and in the last one its holder and the reason, as far as they fit."""
    last = _last_column(seen)
    names = ("id", "queue", "task", "state", "f/c/l", last, "age")
    rows = plain_table(*names, "owner, reason", right=(last, "age"))
    cells = [(one.browsed.id, one.browsed.queue, one.task or "–", _state(one), _counts(one), _left(one, wall),
              spoken(one.age_seconds(wall))) for one in seen]  # fmt: skip
    left = width
    for place, (column, name) in enumerate(zip(rows.columns, names, strict=False)):
        widest = max(len(text) for text in (name, *(row[place] for row in cells)))
        # The id is what people copy: names give way before it does.
        column.min_width = column.max_width = min(widest, _MEDIUM_NAME if name in ("queue", "task") else widest)
        column.overflow = "ellipsis"
        left -= column.max_width + _GAP
    rows.columns[-1].overflow = "ellipsis"
    rows.columns[-1].max_width = max(len("owner, reason"), left)
    for one, row in zip(seen, cells, strict=True):
        rows.add_row(*row, " ".join(filter(None, (one.browsed.owner, _reason(one)))))
    return _explained(rows)


def _narrow(seen: Sequence[Seen], wall: float, width: int) -> "Table":
    from rich.text import Text

    last = _last_column(seen)
    rows = plain_table("id / reason", "task / owner", "state / age", "f/c/l", last, right=(last,))
    first, second, *others = rows.columns
    for column, least in zip(others, (11, 5, 11), strict=True):
        column.min_width = least
    # The id is what people copy: an owner's name gives way before it does.
    first.overflow = second.overflow = "ellipsis"
    second.max_width = max(8, width - 32 - 11 - 5 - 11 - 2 * 4)
    widest = max(len(text) for one in seen for text in (one.task or "–", one.browsed.owner or "", "task / owner"))
    first.max_width = max(32, width - min(second.max_width, widest) - 11 - 5 - 11 - 2 * 4)
    for one in seen:
        below = Text(_reason(one), style="dim")
        rows.add_row(
            Text.assemble(one_line(one.browsed.id), "\n", below) if below.plain else one.browsed.id,
            Text.assemble(one_line(one.task or "–"), "\n", (one_line(one.browsed.owner), "dim"))
            if one.browsed.owner
            else one.task,
            Text.assemble(_state(one), "\n", (spoken(one.age_seconds(wall)), "dim")),
            _counts(one),
            _left(one, wall),
        )
    return _explained(rows)


def _counts(one: Seen) -> str:
    counters = one.browsed.counters
    return f"{counters.attempts}/{counters.crashes}/{counters.lost}"


def _explained(rows: "Table") -> "Table":
    rows.caption = "f/c/l: attempts failed, workers crashed, leases lost"
    rows.caption_justify = "left"
    return rows


def _state(one: Seen) -> "Text":
    from rich.text import Text

    return Text(one.browsed.state, style=STATE_STYLES[one.browsed.state])


def _last_column(seen: Sequence[Seen]) -> str:
    return "ended ago" if all(one.record is not None for one in seen) else "left"


def _left(one: Seen, wall: float) -> str:
    """The time until something happens to it; of what is finished, since it did."""
    if one.record is not None:
        return "–" if one.record.finished_at is None else spoken(wall - one.record.finished_at)
    if one.browsed.due_in is not None:
        return spoken(one.browsed.due_in)
    return countdown(one.browsed.deadline_in)


def _reason(one: Seen) -> str:
    if one.browsed.reason is not None:
        return one_line(f"{one.browsed.reason.code}: {one.browsed.reason.text}".partition("\n")[0])
    return one_line(one.unreadable)
