"""`tenure clients`: what each client has waiting, running and dead, how much work it is given, and its quota."""

from typing import TYPE_CHECKING

import click

from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import STATE_STYLES, console, count, give_way, plain_table, say_json
from tenure.rules.client_weights import USUAL_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table
    from rich.text import Text

    from tenure.client.operations.client_quota import ClientQuota
    from tenure.client.operations.clients import ClientStatus

_FIGURES = ("waiting", "running", "dead", "oldest", "out/min", "errors", "work")
#: From this part of a quota on, it is said in the colour of "soon".
_SOON = 0.8


@click.command(short_help="Show the clients: what waits, what runs, their quotas.")
@target_argument
@json_option
def clients(target: str | None, *, as_json: bool) -> None:
    """Show each client: what waits, runs and is dead, what it was given in the last hour, its weight and quota.

    A client is known by its queue, CLIENT-tasks. "work" is its part of all the time that handlers ran for clients,
    with its weight behind it if it has one, as ×3. A dash means that it cannot be known.
    """
    app = find(target)
    found = run(app, lambda app: app.operate.clients())
    if as_json:
        say_json(found)
        return
    out = console()
    if not found.clients:
        out.print("No client is known: no queue CLIENT-tasks holds a message.")
        return
    out.print(_table(found.clients, out.width))


def _table(rows: "Sequence[ClientStatus]", width: int) -> "Table":
    any_quota = any(one.quota is not None for one in rows)
    any_paused = any(one.paused is not None for one in rows)
    more = [*(["paused"] if any_paused else []), *(["quota"] if any_quota else [])]
    table = plain_table("client", *_FIGURES, *more, right=_FIGURES)
    for one in rows:
        *figures, work = figures_of(one)
        weight = "" if one.weight == USUAL_WEIGHT else f" ×{one.weight:g}"
        table.add_row(
            one.client, *figures, f"{work}{weight}", *_paused(one, shown=any_paused), *_quota(one, shown=any_quota)
        )
    wide, narrow = ((name, 18) for name in more), ((name, 8) for name in more)
    give_way(table, width, *wide, ("client", 12), *narrow, ("client", 8))
    return table


def figures_of(one: "ClientStatus") -> "tuple[str | Text, ...]":
    """The figures of one client, as cells."""
    from rich.text import Text

    about = one.estimated
    waiting = None if one.waiting is None or one.delayed is None else one.waiting + one.delayed
    return (
        count(waiting, estimated=about),
        count(one.running, estimated=about),
        Text(count(one.dead, estimated=about), style=STATE_STYLES["dead"] if one.dead else ""),
        spoken(one.oldest_age_seconds),
        "–" if one.out_per_second is None else f"{one.out_per_second * 60:,.1f}",
        "–" if one.error_share is None else f"{one.error_share:.1%}",
        "–" if one.work_share is None else f"{one.work_share:.0%}",
    )


def quota_text(quota: "ClientQuota | None") -> "Text":
    """A quota and how much of it is used."""
    from rich.text import Text

    if quota is None:
        return Text("")
    use = max((part for part in (quota.waiting_use, quota.running_use) if part is not None), default=None)
    if use is None:
        return Text(str(quota))
    style = "red" if use >= 1 else "yellow" if use >= _SOON else ""
    return Text(f"{use:.0%} used of {quota}", style=style)


def _paused(one: "ClientStatus", *, shown: bool) -> list[str]:
    return [] if not shown else [""] if one.paused is None else [f"by {one.paused.by}" if one.paused.by else "yes"]


def _quota(one: "ClientStatus", *, shown: bool) -> "list[Text]":
    return [quota_text(one.quota)] if shown else []
