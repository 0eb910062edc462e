"""`tenure workers`: who is alive, and what each holds; `drain` and `stop` one (`worker_acts.py`).

A worker is on the roster from its start to its goodbye. One that was killed is gone as soon as that is proven; one that
is only silent is listed with how long. Programs that lease over HTTP are listed below. A loop of one's own is on no
roster: what it holds is in `tenure messages`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.cli.lazy import ListingGroup
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import WIDE, console, fits, give_way, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.timing.why import amount

if TYPE_CHECKING:
    from rich.table import Table

    from tenure.client.operations.consumers import ConsumerStatus
    from tenure.client.operations.workers import WorkerStatus

#: A cell's worth.
_MOST_TASKS = 3
#: Longer than any worker leaves between two words.
_SILENT_SECONDS = 10.0


_TABLE = {
    "list": ("tenure.cli.commands.workers:list_", "Show the workers that are alive, and what they hold."),
    "drain": ("tenure.cli.commands.worker_acts:drain", "Let a worker finish what runs, lease nothing more, and stop."),
    "stop": ("tenure.cli.commands.worker_acts:stop", "Stop a worker, as SIGTERM does."),
}


@click.group(cls=ListingGroup, table=_TABLE, short_help="Show the workers that are alive; drain or stop one.")
def workers() -> None:
    """Show the workers that are alive, and what they hold; drain or stop one.

    `tenure workers TARGET` is short for `tenure workers list TARGET`.
    """


@click.command("list", short_help="Show the workers that are alive, and what they hold.")
@target_argument
@json_option
def list_(target: str | None, *, as_json: bool) -> None:
    """Show the workers that are alive, and what they hold.

    "slots" is how many messages it runs at once, "holds" how many it has now. "cpu" is the share of one core and "rss"
    the memory that its process used, as it said up to 5 seconds ago, in the cloud 60. A worker whose death is proven
    is gone, and the next sweep returns what it held. One that is only silent keeps its messages until their leases
    end. Programs that lease over HTTP are listed with what they finish and fail in a minute.
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
        if row.draining_since is not None:
            ago = spoken(app.state.wall() - row.draining_since)
            out.print(f"{row.id} is {row.leaving}, {ago} ago; it leases nothing more.", markup=False)
        if row.silent_seconds >= _SILENT_SECONDS:
            told = "what it holds comes back when its leases end" if row.holds else "it holds nothing"
            out.print(f"{row.id} was silent for {spoken(row.silent_seconds)}; {told}.", markup=False)
    if found.consumers:
        out.print(_consumers(found.consumers, out.width))
    for one in found.gone:
        out.print(f"{one.id} is gone: {one.proof}; the next sweep returns what it held.", markup=False)


# -- for people ------------------------------------------------------------------------------------


def _table(rows: "Sequence[WorkerStatus]", wall: float, width: int) -> "Table":
    """Draw one line each where that fits, else two."""
    wide = _wide(rows, wall, width)
    return wide if width >= WIDE or fits(wide, width) else _narrow(rows, wall, width)


def _wide(rows: "Sequence[WorkerStatus]", wall: float, width: int) -> "Table":
    right = ("pid", "since", "cpu", "rss", "slots")
    table = plain_table("worker", "host", "pid", "since", "cpu", "rss", "slots", "holds", "queues", right=right)
    for row in rows:
        queues = ", ".join(row.queues)
        since = spoken(wall - row.started_at)
        cpu = "–" if row.cpu_percent is None else f"{row.cpu_percent:.0f} %"
        rss = "–" if row.memory_bytes is None else amount(row.memory_bytes)
        table.add_row(row.id, row.host, str(row.pid), since, cpu, rss, str(row.concurrency), _holds(row), queues)
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


def _consumers(rows: "Sequence[ConsumerStatus]", width: int) -> "Table":
    right = ("last seen", "done/min", "errors/min")
    table = plain_table("over HTTP", "token", "last seen", "done/min", "errors/min", "holds", "queues", right=right)
    for row in rows:
        seen = "–" if row.silent_seconds is None else f"{spoken(row.silent_seconds)} ago"
        rates = ("–" if one is None else f"{one:g}" for one in (row.rate_per_minute, row.errors_per_minute))
        table.add_row(row.name, row.token, seen, *rates, _holds(row), ", ".join(row.queues))
    steps = (("queues", 16), ("holds", 22), ("token", 8), ("over HTTP", 16), ("queues", 8), ("holds", 9))
    give_way(table, width, *steps, ("over HTTP", 12))
    return table


def _holds(row: "WorkerStatus | ConsumerStatus") -> str:
    """Say how many messages it holds, and of which tasks."""
    if not row.holds:
        return "nothing"
    tasks = Counter(held.task or "of unknown task" for held in row.holds)
    some = ", ".join(f"{number} {task}" for task, number in tasks.most_common(_MOST_TASKS))
    return f"{plural(len(row.holds), 'message')}: {some}{', …' if len(tasks) > _MOST_TASKS else ''}"
