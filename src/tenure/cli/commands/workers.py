"""`tenure workers`: who is alive, and what each holds.

A worker is on the roster from its start to its goodbye. One that was killed is gone as soon as that is proven; one that
is only silent is listed with how long. Consumers without a worker (a loop of one's own) are on no roster: what they
hold is in `tenure messages`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.cli.duration import spoken
from tenure.cli.output import WIDE, console, fits, give_way, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.target import find, json_option, run, target_argument

if TYPE_CHECKING:
    from rich.table import Table

    from tenure.client.operations.workers import WorkerStatus

#: A cell's worth.
_MOST_TASKS = 3
#: Longer than any worker leaves between two words.
_SILENT_SECONDS = 10.0


@click.command(short_help="Show the workers that are alive, and what they hold.")
@target_argument
@json_option
def workers(target: str | None, *, as_json: bool) -> None:
    """Show the workers that are alive, and what they hold.

    "slots" is how many messages it runs at once, "holds" how many it has now. A worker whose death is proven is
    gone, and the next sweep returns what it held. One that is only silent keeps its messages until their leases end.
    """
    app = find(target)
    found = run(app, lambda app: app.operate.workers())
    if as_json:
        say_json(found)
        return
    rows = found.workers
    out = console()
    if rows:
        out.print(_table(rows, app.clock.wall(), out.width))
    else:
        out.print("No worker is alive here.")
    for row in rows:
        if row.silent_seconds >= _SILENT_SECONDS:
            told = "what it holds comes back when its leases end" if row.holds else "it holds nothing"
            out.print(f"{row.id} was not heard for {spoken(row.silent_seconds)}; {told}.", markup=False)
    for one in found.gone:
        out.print(f"{one.id} is gone: {one.proof}; the next sweep returns what it held.", markup=False)


# -- for people ------------------------------------------------------------------------------------


def _table(rows: "Sequence[WorkerStatus]", wall: float, width: int) -> "Table":
    """One line each where that fits, else two."""
    wide = _wide(rows, wall, width)
    return wide if width >= WIDE or fits(wide, width) else _narrow(rows, wall, width)


def _wide(rows: "Sequence[WorkerStatus]", wall: float, width: int) -> "Table":
    table = plain_table("worker", "host", "pid", "since", "slots", "holds", "queues", right=("pid", "since", "slots"))
    for row in rows:
        queues = ", ".join(row.queues)
        since = spoken(wall - row.started_at)
        table.add_row(row.id, row.host, str(row.pid), since, str(row.concurrency), _holds(row), queues)
    give_way(table, width, ("queues", 20), ("holds", 30), ("host", 12))
    return table


def _narrow(rows: "Sequence[WorkerStatus]", wall: float, width: int) -> "Table":
    from rich.text import Text

    table = plain_table("worker / host, pid", "since", "slots", "holds / queues", right=("since", "slots"))
    for row in rows:
        table.add_row(
            Text.assemble(one_line(row.id), "\n", (one_line(f"{row.host}, {row.pid}"), "dim")),
            spoken(wall - row.started_at),
            str(row.concurrency),
            Text.assemble(_holds(row), "\n", (one_line(", ".join(row.queues)), "dim")),
        )
    give_way(table, width, ("holds / queues", 36), ("worker / host, pid", 30), ("holds / queues", 22))
    return table


def _holds(row: "WorkerStatus") -> str:
    """How many, and of which tasks."""
    if not row.holds:
        return "nothing"
    tasks = Counter(held.task or "of unknown task" for held in row.holds)
    some = ", ".join(f"{number} {task}" for task, number in tasks.most_common(_MOST_TASKS))
    return f"{plural(len(row.holds), 'message')}: {some}{', …' if len(tasks) > _MOST_TASKS else ''}"
