"""`tenure client show`."""

from typing import TYPE_CHECKING

import click

from tenure.cli.commands.client.words import WORDS, one_client
from tenure.cli.commands.clients import figures_of, quota_text
from tenure.cli.target import find, json_option, run
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import console, plain_table, say_json
from tenure.cli.terminal.queue_words import since

if TYPE_CHECKING:
    from tenure.client.operations.clients import ClientDetail

_NAMES = ("waiting", "running", "dead", "oldest", "out/min", "errors", "work")


@click.command(short_help="Show one client and its tasks.")
@WORDS
@json_option
def show(words: tuple[str, ...], *, as_json: bool) -> None:
    """Show what a client has waiting, running and dead, what its tasks did in the last hour, its weight and quota."""
    target, name = one_client(words)
    app = find(target)
    found = run(app, lambda app: app.operate.client(name))
    if as_json:
        say_json(found)
        return
    _say(found, app.clock.wall())


def _say(found: "ClientDetail", wall: float) -> None:
    out = console()
    facts = plain_table("", "")
    facts.show_header = False
    facts.add_row("client", found.client)
    facts.add_row("queue", found.queue)
    for label, figure in zip(_NAMES, figures_of(found), strict=True):
        facts.add_row(label, figure)
    if found.paused is not None:
        facts.add_row("paused", since(found.paused, wall))
    facts.add_row("weight", f"{found.weight:g}")
    facts.add_row("quota", "none" if found.quota is None else quota_text(found.quota))
    if found.quota is not None and found.quota.at is not None:
        facts.add_row("set", f"{spoken(max(0.0, wall - found.quota.at))} ago by {found.quota.by or 'an operator'}")
    out.print(facts)
    if found.tasks:
        table = plain_table("task", "completed", "dead", "errors", "p50", "p95", right=("completed", "dead"))
        for one in found.tasks:
            p50, p95 = (None, None) if one.duration is None else (one.duration.p50, one.duration.p95)
            table.add_row(
                one.task or "",
                f"{one.counts.get('completed', 0):,}",
                f"{one.counts.get('dead', 0):,}",
                "–" if one.error_share is None else f"{one.error_share:.1%}",
                spoken(p50),
                spoken(p95),
            )
        out.print()
        out.print(table)
