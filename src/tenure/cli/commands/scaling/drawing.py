"""The table of `tenure scaling`: one row a queue, and below it why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.cli.terminal.duration import exact, spoken
from tenure.cli.terminal.output import count, keep_figures, plain_table
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.scaling import ScalingNeed

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FIGURES = ("ready", "leased", "delayed", "due", "oldest", "mean", "q99", "now", "workers")
_NARROW = ("ready\nleased", "delayed\ndue", "oldest\nnow", "mean\nq99", "workers\nready only")
#: From this width on they stand in one line.
_WIDE = 100
NOTHING = "No queue holds a message, and no worker serves one."


def tell(out: "Console", rows: Sequence[ScalingNeed]) -> None:
    """Print the table, and below it why."""
    if not rows:
        out.print(NOTHING)
        return
    out.print(table(rows, out.width))
    for text, style in _reasons(rows):
        out.print(text, markup=False, style=style, soft_wrap=not out.is_terminal)


def live(rows: Sequence[ScalingNeed], width: int, *, trouble: str = "") -> "RenderableType":
    """The same as one picture that is drawn again and again; `trouble`: why these figures are not of now."""
    from rich.console import Group
    from rich.text import Text

    notes = [Text(one_line(f"Not of now: {trouble}"), style="red")] if trouble else []
    if not rows:
        return Group(NOTHING, *notes)
    return Group(table(rows, width), *(Text(text, style=style) for text, style in _reasons(rows)), *notes)


def _reasons(rows: Sequence[ScalingNeed]) -> list[tuple[str, str]]:
    """The sentences below the table, each with its style."""
    told = []
    for row in rows:
        told.append((f"{row.queue}: {row.why}.", "dim"))
        if row.interrupted:
            text = (
                f"{row.queue}: counting ready messages alone it would be {row.visible_only}, "
                f"and {row.interrupted:,} running would be stopped."
            )
            told.append((text, "red"))
    return told


def table(rows: Sequence[ScalingNeed], width: int) -> "RenderableType":
    """Draw one row a queue; where the terminal is narrow, on two lines."""
    from rich.text import Text

    from tenure.cli.terminal.screen import stacked

    figures = (*_FIGURES, "ready only") if width >= _WIDE else _NARROW
    shown = plain_table("queue", *figures, right=figures)
    for row in rows:
        about = row.estimated
        ready, leased = count(row.ready, estimated=about), count(row.leased, estimated=about)
        delayed, due, oldest = count(row.delayed, estimated=about), count(row.due), spoken(row.oldest_age_seconds)
        mean, q99 = exact(row.mean_seconds), exact(row.q99_seconds)
        now, advised = count(row.workers_now), Text(count(row.desired), style="bold")
        only = Text(count(row.visible_only), style="red" if row.interrupted else "")
        if width >= _WIDE:
            shown.add_row(row.queue, ready, leased, delayed, due, oldest, mean, q99, now, advised, only)
        else:
            pair = Text.assemble(advised, "\n", only)
            pairs = stacked(ready, leased), stacked(delayed, due), stacked(oldest, now), stacked(mean, q99)
            shown.add_row(row.queue, *pairs, pair)
    keep_figures(shown, width)
    return shown
