"""`tenure acts`: the audit log. Who did what to messages, queues and schedules, when, and from where."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.cli.completing import queues_option
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.output import console, count, give_way, plain_table, say_json

if TYPE_CHECKING:
    from rich.table import Table

    from tenure.client.operations.acts import ActEntry

#: A terminal narrower than this shows neither the way nor the address.
_WIDE = 100


@click.command(short_help="Show who did what: the audit log.")
@target_argument
@click.option("--by", help="Only acts by this person; part of the name is enough.")
@click.option("--kind", "-k", "kinds", multiple=True, metavar="KIND", help="Only acts of this kind, such as purged.")
@queues_option("On this queue only")
@click.option(
    "--number", "-n", type=click.IntRange(1), default=50, show_default=True, help="Show this many of the newest."
)
@json_option
def acts(
    target: str | None, by: str | None, kinds: tuple[str, ...], queues: tuple[str, ...], number: int, *, as_json: bool
) -> None:
    """Show who did what to messages, queues and schedules: the audit log, newest first.

    Every act from outside is kept for 400 days: cancel, delete, redrive, purge, pause, resume, and what is done to
    schedules. What workers do by themselves is in the journal: tenure events.
    """
    app = find(target)
    found = run(app, lambda app: _read(app, by, kinds, queues, number))
    if as_json:
        say_json({"acts": found})
        return
    out = console()
    if found:
        out.print(_table(found, out.width))
    else:
        asked = by is not None or kinds or queues
        out.print("No act in the audit log matches." if asked else "The audit log is empty.")


async def _read(
    app: Tenure, by: str | None, kinds: tuple[str, ...], queues: tuple[str, ...], number: int
) -> "list[ActEntry]":
    """The newest that are meant. The log is read to its end if need be: people do little."""
    page = await app.operate.acts(limit=number, by=by, kinds=kinds, queues=queues)
    found = [*page.acts]
    while page.before is not None and len(found) < number:
        page = await app.operate.acts(page.before, number - len(found), by=by, kinds=kinds, queues=queues)
        found += page.acts
    return found


def _table(found: "Sequence[ActEntry]", width: int) -> "Table":
    wide = width >= _WIDE
    extra = ("through", "from") if wide else ()
    rows = plain_table("when", "who", "what", "queue", "messages", *extra, right=("messages",))
    for act in found:
        about = str(act.data.get("schedule") or "")
        more = (act.triggered_by or "–", act.source or "here") if wide else ()
        rows.add_row(
            local(act.at)[:19],
            act.by or "–",
            f"{act.kind} {about}".rstrip(),
            act.queue or "–",
            count(act.count) if act.count or act.ids else "–",
            *more,
        )
    give_way(rows, width, ("who", 16), ("queue", 12), ("what", 10), ("who", 8))
    return rows
