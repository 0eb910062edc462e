"""`tenure dead list`."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from tenure.app import Tenure
from tenure.cli.commands.dead.choosing import DeadChoice, chosen, filters
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.blocks import block
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import WIDE, console, give_way, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.listed_message import ListedMessage, listed

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


#: As Tenure makes them.
_USUAL_ID = 32


@click.command("list", short_help="Show the dead letters and their reasons.")
@target_argument
@filters
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="Show at most this many.")
@json_option
def list_(target: str | None, limit: int, *, as_json: bool, **by: Any) -> None:
    """Show the dead letters and their reasons."""
    app = find(target)
    choice = DeadChoice(everything=True, **by)
    seen, total = run(app, lambda app: _collect(app, choice, limit + 1))
    shown, more = seen[:limit], len(seen) > limit
    if as_json:
        say_json({"messages": shown, "more": more})
        return
    out = console()
    if not shown:
        out.print(f"No dead letters{choice.said}{f' ({total:,} in all)' if total else ''}.", markup=False)
        return
    id_width = max(len(one_line(one.id)) for one in shown)
    if out.width - max(0, id_width - _USUAL_ID) >= WIDE:
        out.print(_table(shown, out.width))
    else:
        for one in shown:
            out.print(_block(one, out.width), soft_wrap=True)
    reasons = Counter(_code(one) for one in shown)
    summary = ", ".join(f"{number} {code}" for code, number in reasons.most_common())
    first = f"The first {limit}" if more else plural(len(shown), "dead letter")
    out.print(one_line(f"{first}: {summary}"), style="dim")


async def _collect(app: Tenure, choice: DeadChoice, limit: int) -> tuple[list[ListedMessage], int]:
    """Those that were asked for, and how many there are at all."""
    seen, wall = [], app.clock.wall()
    async for letter in chosen(app, choice):
        seen.append(listed(letter.browsed, wall))
        if len(seen) == limit:
            break
    return seen, sum(depth.dead or 0 for depth in await app.broker.depth() if app.sees(depth.queue))


def _block(one: ListedMessage, width: int) -> "Text":
    """Draw one message on two lines: which, and why. The cause is what people look for, so it gets a whole line."""
    from rich.text import Text

    age = Text(f"{spoken(one.age_seconds)} old", style="dim")
    return block(one.id, [Text(one_line(one.task or "unreadable")), age], Text.assemble(*_why(one)), width)


def _table(seen: list[ListedMessage], width: int) -> "Table":
    from rich.text import Text

    rows = plain_table("id", "task", "age", "reason", right=("age",))
    for one in seen:
        why = Text.assemble(*_why(one))
        rows.add_row(one.id, one.task or "unreadable", spoken(one.age_seconds), why)
    give_way(rows, width, ("reason", 40), ("task", 20))
    return rows


def _code(one: ListedMessage) -> str:
    return "unknown" if one.reason is None else one.reason.code


def _why(one: ListedMessage) -> tuple[tuple[str, str], str]:
    return (one_line(_code(one)), "red"), f": {one_line(_text(one))}"


def _text(one: ListedMessage) -> str:
    """The cause. That all attempts are used says the code already, so the last error comes first."""
    if one.reason is None:
        return one.unreadable
    text = (one.reason.text or "").partition("\n")[0]
    return text.partition("; the last one: ")[2] or text
