"""`tenure workers`: who is alive, and what each holds.

A worker is on the roster from its start to its goodbye; one that was killed is found gone by its lock, within a second
or so. Consumers without a worker (a loop of one's own) are on no roster: what they hold is in `tenure messages`.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure import envelope
from tenure.app import Tenure
from tenure.cli.duration import spoken
from tenure.cli.output import WIDE, console, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.target import find, json_option, run, target_argument
from tenure.errors import BodyUndecodable
from tenure.lease import Lease
from tenure.owner import DeadOwner, Owner

if TYPE_CHECKING:
    from rich.table import Table

#: A cell's worth.
_MOST_TASKS = 3


class Held(msgspec.Struct, frozen=True):
    """A message that a worker holds."""

    id: str
    queue: str
    #: None: it cannot be read.
    task: str | None


class Row(msgspec.Struct, frozen=True):
    """One worker that is alive."""

    id: str
    name: str
    host: str
    pid: int
    started_at: float
    queues: tuple[str, ...]
    concurrency: int
    holds: tuple[Held, ...]


class Gone(msgspec.Struct, frozen=True):
    """A worker that is proven gone; a sweep returns what it held."""

    id: str
    proof: str


@click.command(short_help="Show the workers that are alive, and what they hold.")
@target_argument
@json_option
def workers(target: str | None, *, as_json: bool) -> None:
    """Show the workers that are alive, and what they hold.

    "slots" is how many messages it runs at once, "holds" how many it has now. A worker that was killed is gone at
    once, and the next sweep returns what it held.
    """
    app = find(target)
    rows, gone = run(app, _look)
    if as_json:
        say_json({"workers": rows, "gone": gone})
        return
    out = console()
    if rows:
        wall = app.clock.wall()
        out.print(_wide(rows, wall) if out.width >= WIDE else _narrow(rows, wall, out.width))
    else:
        out.print("No worker is alive here.")
    for one in gone:
        out.print(f"{one.id} is gone: {one.proof}; the next sweep returns what it held.", markup=False)


async def _look(app: Tenure) -> tuple[list[Row], list[Gone]]:
    roster = app.state.roster
    alive = [owner for owner in await roster.alive() if _is_seen(app, owner)]
    held = await asyncio.gather(*(app.broker.held(owner.id) for owner in alive))
    rows = [_row(owner, leases) for owner, leases in zip(alive, held, strict=True)]
    dead: list[DeadOwner] = [one for one in await roster.dead() if _is_seen(app, one.owner)]
    gone = [Gone(one.owner.id, one.proof) for one in dead]
    return sorted(rows, key=lambda row: (row.name, row.started_at)), gone


def _is_seen(app: Tenure, owner: Owner) -> bool:
    return any(map(app.sees, owner.queues))


def _row(owner: Owner, leases: Sequence[Lease]) -> Row:
    holds = tuple(Held(lease.id, lease.queue, _task(lease)) for lease in leases)
    return Row(
        owner.id, owner.name, owner.host, owner.pid, owner.started_at, owner.queues, owner.concurrency, holds
    )  # fmt: skip


def _task(lease: Lease) -> str | None:
    try:
        return envelope.decode(lease.envelope).task
    except BodyUndecodable:
        return None


# -- for people ------------------------------------------------------------------------------------


def _wide(rows: Sequence[Row], wall: float) -> "Table":
    table = plain_table("worker", "host", "pid", "since", "slots", "holds", "queues", right=("pid", "since", "slots"))
    table.columns[-1].overflow = table.columns[-2].overflow = "ellipsis"
    for row in rows:
        queues = ", ".join(row.queues)
        since = spoken(wall - row.started_at)
        table.add_row(row.id, row.host, str(row.pid), since, str(row.concurrency), _holds(row), queues)
    return table


def _narrow(rows: Sequence[Row], wall: float, width: int) -> "Table":
    from rich.text import Text

    table = plain_table("worker / host, pid", "since", "slots", "holds / queues", right=("since", "slots"))
    first, since, slots, last = table.columns
    first.overflow = last.overflow = "ellipsis"
    since.min_width, slots.min_width = max(len(spoken(wall - row.started_at)) for row in rows), len("slots")
    left = width - since.min_width - slots.min_width - 2 * 3  # the gaps between four columns
    first.max_width, last.max_width = left // 2, left - left // 2
    for row in rows:
        table.add_row(
            Text.assemble(one_line(row.id), "\n", (one_line(f"{row.host}, {row.pid}"), "dim")),
            spoken(wall - row.started_at),
            str(row.concurrency),
            Text.assemble(_holds(row), "\n", (one_line(", ".join(row.queues)), "dim")),
        )
    return table


def _holds(row: Row) -> str:
    """How many, and of which tasks."""
    if not row.holds:
        return "nothing"
    tasks = Counter(held.task or "unreadable" for held in row.holds)
    some = ", ".join(f"{number} {task}" for task, number in tasks.most_common(_MOST_TASKS))
    return f"{plural(len(row.holds), 'message')}: {some}{', …' if len(tasks) > _MOST_TASKS else ''}"
