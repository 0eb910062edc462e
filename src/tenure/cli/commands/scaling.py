"""`tenure scaling`: how many workers each queue needs, and why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.completing import complete_queue
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import DURATION, Duration, exact
from tenure.cli.terminal.output import console, count, keep_figures, plain_table, say_json
from tenure.client.operations.scaling import ScalingNeed

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FIGURES = ("ready", "leased", "due", "mean", "q99", "now", "workers")
_NARROW = ("ready\nleased", "due\nnow", "mean\nq99", "workers\nready only")
#: From this width on they stand in one line.
_WIDE = 80


@click.command(short_help="Show how many workers each queue needs, and why.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option(
    "--target-age",
    "target_age_seconds",
    type=Duration(0.1),
    default="60s",
    show_default=True,
    help="Target: everything that waits now has begun within this time.",
)
@click.option("--min", "minimum", type=click.IntRange(0), default=0, show_default=True, help="Never fewer workers.")
@click.option("--max", "maximum", type=click.IntRange(1), help="Never more workers.")
@click.option(
    "--slots", type=click.IntRange(1), help="Messages that a worker runs at once. Default: as the workers do."
)
@click.option(
    "--cooldown",
    "cooldown_seconds",
    type=DURATION,
    default="5m",
    show_default=True,
    help="No scale-down for this long after the newest worker started.",
)
@click.option("--since", type=Duration(1.0), default="24h", show_default=True, help="How far back to look at runs.")
@json_option
def scaling(
    target: str | None, queue: str | None, slots: int | None, since: float, *, as_json: bool, **wanted: Any
) -> None:
    """Show how many workers each queue needs, and why.

    With an app, its own queues are shown; with a URL, all that there are. Before a run was measured, the profiles of
    the tasks say how long it takes.

    What waits, what is due soon and what runs all count; never fewer are advised than what runs keeps busy. "ready
    only" is what looking at the waiting ones alone would say, as many autoscalers do: in red where it would stop
    workers that run something. A dash means that it cannot be known.
    """
    app = find(target)
    found = run(app, lambda app: app.operate.scaling(queue=queue, slots=slots, since_seconds=since, **wanted))
    if as_json:
        say_json(found)
        return
    out, rows = console(), found.queues
    if not rows:
        out.print("No queue holds a message, and no worker serves one.")
        return
    tell(out, rows)


# -- for people ------------------------------------------------------------------------------------


def tell(out: "Console", rows: Sequence[ScalingNeed]) -> None:
    """The table, and below it why."""
    out.print(table(rows, out.width))
    for row in rows:
        out.print(f"{row.queue}: {row.why}.", markup=False, style="dim", soft_wrap=not out.is_terminal)
        if row.interrupted:
            out.print(
                f"{row.queue}: counting ready messages alone it would be {row.visible_only}, "
                f"and {row.interrupted:,} running would be stopped.",
                markup=False,
                style="red",
                soft_wrap=not out.is_terminal,
            )


def table(rows: Sequence[ScalingNeed], width: int) -> "RenderableType":
    """Draw one row a queue; where the terminal is narrow, on two lines."""
    from rich.text import Text

    from tenure.cli.terminal.screen import stacked

    figures = (*_FIGURES, "ready only") if width >= _WIDE else _NARROW
    shown = plain_table("queue", *figures, right=figures)
    for row in rows:
        about = row.estimated
        ready, leased = count(row.ready, estimated=about), count(row.leased, estimated=about)
        due, mean, q99 = count(row.due), exact(row.mean_seconds), exact(row.q99_seconds)
        now, advised = count(row.workers_now), Text(count(row.desired), style="bold")
        only = Text(count(row.visible_only), style="red" if row.interrupted else "")
        if width >= _WIDE:
            shown.add_row(row.queue, ready, leased, due, mean, q99, now, advised, only)
        else:
            pair = Text.assemble(advised, "\n", only)
            shown.add_row(row.queue, stacked(ready, leased), stacked(due, now), stacked(mean, q99), pair)
    keep_figures(shown, width)
    return shown
