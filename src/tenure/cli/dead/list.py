"""`tenure dead list`."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from tenure.app import Tenure
from tenure.cli.blocks import block
from tenure.cli.dead.choosing import Choice, chosen, filters
from tenure.cli.duration import spoken
from tenure.cli.output import WIDE, console, give_way, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.seen import Seen
from tenure.cli.target import find, json_option, run, target_argument

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


#: As Tenure makes them.
_USUAL_ID = 32


@click.command("list", short_help="Show the dead letters and their reasons.")
@target_argument
@filters
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@json_option
def list_(target: str | None, limit: int, *, as_json: bool, **by: Any) -> None:
    """Show the dead letters and their reasons."""
    app = find(target)
    choice = Choice(everything=True, **by)
    seen, total = run(app, lambda app: _collect(app, choice, limit + 1))
    shown, more = seen[:limit], len(seen) > limit
    wall = app.clock.wall()
    if as_json:
        say_json({"messages": [one.as_json(wall) for one in shown], "more": more})
        return
    out = console()
    if not shown:
        out.print(f"No dead letters{choice.said}{f' ({total:,} in all)' if total else ''}.", markup=False)
        return
    id_width = max(len(one_line(one.browsed.id)) for one in shown)
    if out.width - max(0, id_width - _USUAL_ID) >= WIDE:
        out.print(_table(shown, wall, out.width))
    else:
        for one in shown:
            out.print(_block(one, wall, out.width), soft_wrap=True)
    reasons = Counter(_code(one) for one in shown)
    summary = ", ".join(f"{number} {code}" for code, number in reasons.most_common())
    first = f"The first {limit}" if more else plural(len(shown), "dead letter")
    out.print(one_line(f"{first}: {summary}"), style="dim")


async def _collect(app: Tenure, choice: Choice, limit: int) -> tuple[list[Seen], int]:
    """Those that were asked for, and how many there are at all."""
    seen = []
    async for letter in chosen(app, choice):
        seen.append(Seen(letter.browsed, letter.message, letter.unreadable))
        if len(seen) == limit:
            break
    return seen, sum(depth.dead or 0 for depth in await app.broker.depth() if app.sees(depth.queue))


def _block(one: Seen, wall: float, width: int) -> "Text":
    """One message on two lines: which, and why. The cause is what people look for, so it gets a whole line."""
    from rich.text import Text

    age = Text(f"{spoken(one.age_seconds(wall))} old", style="dim")
    return block(one.browsed.id, [Text(one_line(one.task or "unreadable")), age], Text.assemble(*_why(one)), width)


def _table(seen: list[Seen], wall: float, width: int) -> "Table":
    from rich.text import Text

    rows = plain_table("id", "task", "age", "reason", right=("age",))
    for one in seen:
        why = Text.assemble(*_why(one))
        rows.add_row(one.browsed.id, one.task or "unreadable", spoken(one.age_seconds(wall)), why)
    give_way(rows, width, ("reason", 40), ("task", 20))
    return rows


def _code(one: Seen) -> str:
    return "unknown" if one.browsed.reason is None else one.browsed.reason.code


def _why(one: Seen) -> tuple[tuple[str, str], str]:
    return (one_line(_code(one)), "red"), f": {one_line(_text(one))}"


def _text(one: Seen) -> str:
    """The cause. That all attempts are used says the code already, so the last error comes first."""
    if one.browsed.reason is None:
        return one.unreadable
    text = one.browsed.reason.text.partition("\n")[0]
    return text.partition("; the last one: ")[2] or text
