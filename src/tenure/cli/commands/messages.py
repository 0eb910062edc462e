"""`tenure messages`: list the messages in the queues."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.completing import complete_task, queues_option
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.message_table import table
from tenure.cli.terminal.moment import DURATION_OR_MOMENT, local, moment_of
from tenure.cli.terminal.output import console, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.cli.terminal.queue_words import since as paused_since
from tenure.client.operations.browsable import instead
from tenure.client.operations.message_list import ENDED
from tenure.client.operations.messages import OPEN_STATES, MessagePage, MessageQuery
from tenure.message import MessageState
from tenure.notice import Pause

if TYPE_CHECKING:
    from rich.text import Text


@click.command(short_help="Show messages, changing nothing.")
@target_argument
@queues_option("Of this queue only")
@click.option(
    "--state",
    "-s",
    "names",
    multiple=True,
    type=click.Choice([one.value for one in (*OPEN_STATES, *ENDED)]),
    help="In this state only; repeat it for more.",
)
@click.option("--task", "-t", shell_complete=complete_task, help="Of this task only.")
@click.option("--client", help="Of this client only.")
@click.option("--key", help="With this key only.")
@click.option("--text", help="With this text in the id, the payload or the reason.")
@click.option(
    "--since",
    type=DURATION_OR_MOMENT,
    help="Sent since then, or ended since then if it has ended, as in 2h (ago) or 2030-01-31T09:00Z.",
)
@click.option("--until", type=DURATION_OR_MOMENT, help="Sent or ended before then.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="Show at most this many.")
@click.option("--after", default="", metavar="CURSOR", help="Continue an earlier list; use the same filters.")
@click.option(
    "--scan", is_flag=True, help="Include states that need a scan of a cloud's table, which is billed by the row."
)
@json_option
def messages(
    target: str | None,
    names: tuple[str, ...],
    since: datetime | float | None,
    until: datetime | float | None,
    *,
    as_json: bool,
    **given: Any,
) -> None:
    """Show messages, changing nothing: what waits, runs or is dead; with --state also what is finished.

    "left" counts a lease down to its end, or a delay to its due time; "Overdue" leases are returned by the next
    sweep. For running messages, "progress" is the handler's last report. Looking at a message does not count as a
    delivery. Of the finished ones the newest are shown first, and "took" is how long the run took; a dash means that
    the journal does not have it any more.

    A message must match every filter. Looking is bounded: where it ends before everything was looked through, the
    last line says how far it came, and --after goes on from there.
    """
    app = find(target)
    wall = app.clock.wall()
    since, until = moment_of(since, wall), moment_of(until, wall)
    states = tuple(MessageState(name) for name in dict.fromkeys(names)) or OPEN_STATES
    asked = MessageQuery(states=states, since=since, until=until, **given)
    found = run(app, lambda app: app.operate.messages(asked))
    if as_json:
        say_json(found)
        return
    out, hidden = console(), found.hidden
    if found.messages:
        drawn = table(found.messages, app.clock.wall(), out.width)
        out.print(drawn, soft_wrap=not hasattr(drawn, "columns"))
    elif not hidden and not found.more:
        out.print(_nothing(asked, names), soft_wrap=True)
    if hidden:
        scan = "; --scan reads the whole table for them" if app.broker.traits.scannable.issuperset(hidden) else ""
        out.print(
            f"{'' if found.messages else 'Nothing to show: '}{instead(hidden)}{scan}.", markup=False, soft_wrap=True
        )
    if found.more:
        out.print(_go_on(found, asked.limit), style="dim", soft_wrap=True)
    for pause in found.paused:
        out.print(_paused(pause, wall))


def _go_on(found: MessagePage, limit: int) -> str:
    """Say how far it looked, and how to see the rest."""
    number = f"The first {plural(len(found.messages), 'message')}" if found.messages else "None so far"
    looked = ""
    if found.looked_at is not None and found.looked_at > len(found.messages):
        looked = f" of {found.looked_at:,} looked at"
        if found.looked_until is not None and len(found.messages) < limit:
            looked += f", up to {local(found.looked_until)}"
    on = "" if found.after is None else f", --after {found.after} goes on"
    return f"{number}{looked}; --limit shows more{on}."


def _paused(pause: Pause, wall: float) -> "Text":
    from rich.text import Text

    rest = one_line(f" {paused_since(pause, wall)}: no message is leased from it.")
    return Text.assemble((one_line(f"{pause.queue} is paused"), "yellow"), rest)


def _nothing(asked: MessageQuery, states: Sequence[str]) -> str:
    filters = {"of task": asked.task, "of client": asked.client, "with key": asked.key, "with text": asked.text}
    named = "".join(f" {word} {value!r}" for word, value in filters.items() if value is not None)
    named += f" in queue {' or '.join(map(repr, asked.queues))}" if asked.queues else ""
    if not states and not named and asked.since is None and asked.until is None:
        return "No messages: nothing waits, runs or is dead here."
    what = f"No {' or '.join(states)} message" if states else "No message"
    when = "" if asked.since is None and asked.until is None else " in that time"
    return f"{what}{named}{when}."
