"""`tenure dead groups`: what dead letters died of."""

from typing import TYPE_CHECKING, Any

import click

from tenure.app import Tenure
from tenure.cli.commands.dead.choosing import DeadChoice, group_filters
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import console, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.dead import DeadQuery
from tenure.client.operations.dead_groups import DeadGroup, DeadGroups

if TYPE_CHECKING:
    from rich.text import Text


@click.command(short_help="Show what dead letters died of, the largest group first.")
@target_argument
@group_filters
@click.option(
    "--most", type=click.IntRange(1), default=10_000, show_default=True, help="Look at this many of the newest."
)
@json_option
def groups(target: str | None, most: int, *, as_json: bool, **by: Any) -> None:
    """Show what dead letters died of, the largest group first.

    Letters of one group have the same task, code, class of exception and place in your own code; numbers and ids in the
    sentence do not split it. `tenure dead redrive --group GROUP` and `tenure dead delete --group GROUP` act on all of
    one group.
    """
    app = find(target)
    choice = DeadChoice(everything=True, **by)
    found = run(app, lambda app: _groups(app, choice, most))
    if as_json:
        say_json(found)
        return
    out = console()
    if not found.groups:
        out.print(f"No dead letters{choice.said}.", markup=False)
        return
    wall = app.state.wall()
    for group in found.groups:
        out.print(_told(group, wall), soft_wrap=not out.is_terminal)
    looked = f"{plural(len(found.groups), 'group')} of {plural(found.looked_at, 'dead letter')}"
    out.print(f"{looked}{'; there are more, see --most' if found.more else ''}", style="dim")


async def _groups(app: Tenure, choice: DeadChoice, most: int) -> DeadGroups:
    which = choice.which(app.clock.wall())
    query = DeadQuery(
        queues=() if choice.queue is None else (choice.queue,),
        task=which.task,
        reason=which.reason,
        since=which.since,
        before=which.before,
    )
    return await app.operate.dead_groups(query, most=most)


def _told(group: DeadGroup, wall: float) -> "Text":
    """Two lines: which, how many, of what task and since when; and the sentence of the newest one."""
    from rich.text import Text

    times = ""
    if group.first_at is not None and group.last_at is not None:
        times = f"  first {spoken(wall - group.first_at)} ago, last {spoken(wall - group.last_at)} ago"
    error = f" {group.error}" if group.error else ""
    place = f" at {group.place}" if group.place else ""
    return Text.assemble(
        (group.fingerprint, "bold"),
        f"  {group.count:,}  {one_line(group.task or 'unreadable')}",
        (times, "dim"),
        "\n  ",
        (one_line(group.code), "red"),
        one_line(f"{error}{place}: {group.text or ''}"),
    )
