"""`tenure workers`: who is alive, and what each holds.

A worker is on the roster from its start to its goodbye. One that was killed is gone as soon as that is proven; one that
is only silent is listed with how long. Consumers without a worker (a loop of one's own) are on no roster: what they
hold is in `tenure messages`.
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
from tenure.cli.output import WIDE, console, fits, give_way, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.presence import judged
from tenure.cli.target import find, json_option, run, target_argument
from tenure.errors import BodyUndecodable
from tenure.lease import Lease
from tenure.owner import Member, Owner

if TYPE_CHECKING:
    from rich.table import Table

#: A cell's worth.
_MOST_TASKS = 3
#: So many records are asked for side by side.
_AT_ONCE = 50
#: Longer than any worker leaves between two words.
_SILENT_SECONDS = 10.0


class Held(msgspec.Struct, frozen=True):
    """A message that a worker holds."""

    id: str
    queue: str
    #: None: not known, as of a message that Tenure did not send.
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
    #: Seconds since it was last heard.
    silent_seconds: float = 0.0
    slot: str = ""


class Gone(msgspec.Struct, frozen=True):
    """A worker that is proven gone; a sweep returns what it held."""

    id: str
    proof: str


@click.command(short_help="Show the workers that are alive, and what they hold.")
@target_argument
@json_option
def workers(target: str | None, *, as_json: bool) -> None:
    """Show the workers that are alive, and what they hold.

    "slots" is how many messages it runs at once, "holds" how many it has now. A worker whose death is proven is
    gone, and the next sweep returns what it held. One that is only silent keeps its messages until their leases end.
    """
    app = find(target)
    rows, gone = run(app, _look)
    if as_json:
        say_json({"workers": rows, "gone": gone})
        return
    out = console()
    if rows:
        out.print(_table(rows, app.clock.wall(), out.width))
    else:
        out.print("No worker is alive here.")
    for row in rows:
        if row.silent_seconds >= _SILENT_SECONDS:
            told = "what it holds comes back when its leases end" if row.holds else "it holds nothing"
            out.print(f"{row.id} was not heard for {spoken(row.silent_seconds)}; {told}.", markup=False)
    for one in gone:
        out.print(f"{one.id} is gone: {one.proof}; the next sweep returns what it held.", markup=False)


async def _look(app: Tenure) -> tuple[list[Row], list[Gone]]:
    found = await judged(app)
    living = [member for member in found.living if _is_seen(app, member.owner)]
    held = await asyncio.gather(*(app.broker.held(member.owner.id) for member in living))
    gate = asyncio.Semaphore(_AT_ONCE)
    holds = [await asyncio.gather(*(_held(app, lease, gate) for lease in leases)) for leases in held]
    rows = [_row(member, messages) for member, messages in zip(living, holds, strict=True)]
    gone = [Gone(one.owner.id, one.proof) for one in found.dead if _is_seen(app, one.owner)]
    return sorted(rows, key=lambda row: (row.name, row.started_at)), gone


def _is_seen(app: Tenure, owner: Owner) -> bool:
    return any(map(app.sees, owner.queues))


def _row(member: Member, holds: Sequence[Held]) -> Row:
    owner = member.owner
    return Row(
        owner.id, owner.name, owner.host, owner.pid, owner.started_at, owner.queues, owner.concurrency, tuple(holds),
        round(member.silent_seconds, 3), owner.slot,
    )  # fmt: skip


async def _held(app: Tenure, lease: Lease, gate: asyncio.Semaphore) -> Held:
    """The task is in the envelope. On SQS only the holder has that, so the message's record is asked."""
    try:
        return Held(lease.id, lease.queue, envelope.decode(lease.envelope).task)
    except BodyUndecodable:
        async with gate:
            record = await app.state.records.get(lease.id, lease.queue)
        return Held(lease.id, lease.queue, None if record is None else record.task)


# -- for people ------------------------------------------------------------------------------------


def _table(rows: Sequence[Row], wall: float, width: int) -> "Table":
    """One line each where that fits, else two."""
    wide = _wide(rows, wall, width)
    return wide if width >= WIDE or fits(wide, width) else _narrow(rows, wall, width)


def _wide(rows: Sequence[Row], wall: float, width: int) -> "Table":
    table = plain_table("worker", "host", "pid", "since", "slots", "holds", "queues", right=("pid", "since", "slots"))
    for row in rows:
        queues = ", ".join(row.queues)
        since = spoken(wall - row.started_at)
        table.add_row(row.id, row.host, str(row.pid), since, str(row.concurrency), _holds(row), queues)
    give_way(table, width, ("queues", 20), ("holds", 30), ("host", 12))
    return table


def _narrow(rows: Sequence[Row], wall: float, width: int) -> "Table":
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


def _holds(row: Row) -> str:
    """How many, and of which tasks."""
    if not row.holds:
        return "nothing"
    tasks = Counter(held.task or "of unknown task" for held in row.holds)
    some = ", ".join(f"{number} {task}" for task, number in tasks.most_common(_MOST_TASKS))
    return f"{plural(len(row.holds), 'message')}: {some}{', …' if len(tasks) > _MOST_TASKS else ''}"
