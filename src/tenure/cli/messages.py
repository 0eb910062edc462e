"""`tenure messages`: what lies in the queues, message by message."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.app import Tenure
from tenure.broker import Query
from tenure.cli.completing import complete_queue, complete_task
from tenure.cli.finished import FINISHED
from tenure.cli.listing import Listing, listing
from tenure.cli.message_table import table
from tenure.cli.moment import DURATION_OR_MOMENT, local, moment_of
from tenure.cli.naming import check_known, full_name, paused, since, wanted_queues
from tenure.cli.output import console, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.run_figures import with_figures
from tenure.cli.seen import check_shown, hidden_states, instead
from tenure.cli.target import find, json_option, run, target_argument
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.rules.queue_pattern import is_pattern, matches

if TYPE_CHECKING:
    from rich.text import Text

#: What is being worked on comes first. What is finished is shown only when it is asked for.
_OPEN = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for, besides the states."""

    queues: tuple[str, ...] = ()
    task: str | None = None
    client: str | None = None
    key: str | None = None
    text: str | None = None
    since: datetime | float | None = None
    until: datetime | float | None = None
    limit: int = 50
    after: str = ""
    scan: bool = False

    def query(self, app: Tenure, states: Sequence[MessageState]) -> Query:
        """The same, as a broker is asked."""
        wall = app.clock.wall()
        return Query(
            states=tuple(states), queues=wanted_queues(app, self.queues), task=self.task, client=self.client,
            key=self.key, text=self.text, since=moment_of(self.since, wall), until=moment_of(self.until, wall),
            limit=self.limit, cursor=self.after, scan=self.scan,
        )  # fmt: skip


class _Answer(msgspec.Struct, frozen=True):
    """What was found."""

    listing: Listing
    pauses: list[Pause]


@click.command(short_help="Show messages, changing nothing.")
@target_argument
@click.option(
    "--queue",
    "-q",
    "queues",
    multiple=True,
    shell_complete=complete_queue,
    help="Of this queue only: a name, or a pattern such as '*-tasks'; repeat it for more.",
)
@click.option(
    "--state",
    "-s",
    "names",
    multiple=True,
    type=click.Choice([one.value for one in (*_OPEN, *FINISHED)]),
    help="In this state only; repeat it for more.",
)
@click.option("--task", "-t", shell_complete=complete_task, help="Of this task only.")
@click.option("--client", help="Of this client only.")
@click.option("--key", help="With this key only.")
@click.option("--text", help="With this text in the id, the payload or the reason.")
@click.option(
    "--since",
    type=DURATION_OR_MOMENT,
    help="Sent since then, or ended, of what has ended: as in 2h (ago) or 2030-01-31T09:00Z.",
)
@click.option("--until", type=DURATION_OR_MOMENT, help="Sent or ended before then.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--after", default="", metavar="CURSOR", help="Go on where an earlier list ended, with the same filters.")
@click.option("--scan", is_flag=True, help="Also states that need a scan of a cloud's table, paid for by the row.")
@json_option
def messages(target: str | None, names: tuple[str, ...], *, as_json: bool, **given: Any) -> None:
    """Show messages, changing nothing: what waits, runs or is dead; with --state also what is finished.

    "left" counts a lease down to its end, or a delay to its due time; "Overdue" leases are returned by the next
    sweep. Of what runs, "progress" is what its handler said last. Looking at a message does not count as a delivery.
    Of the finished ones the newest are shown first, and "took" is how long the run took; a dash means that the
    journal does not have it any more.

    A message must match every filter. Looking is bounded: where it ends before everything was looked through, the
    last line says how far it came, and --after goes on from there.
    """
    app = find(target)
    asked = _Asked(**given)
    states = _states(names)
    answer = run(app, lambda app: _collect(app, asked, states))
    hidden = hidden_states(app.broker, states, scan=asked.scan)
    found, wall = answer.listing, app.clock.wall()
    if as_json:
        messages = [one.as_json(wall) for one in found.seen]
        say_json({"messages": messages, "more": found.is_more, "after": found.cursor, "looked_at": found.looked_at,
                  "looked_until": found.looked_until, "hidden": hidden, "paused": answer.pauses})  # fmt: skip
        return
    out = console()
    if found.seen:
        drawn = table(found.seen, wall, out.width)
        out.print(drawn, soft_wrap=not hasattr(drawn, "columns"))
    elif not hidden and not found.is_more:
        out.print(_nothing(asked, names), soft_wrap=True)
    if hidden:
        scan = "; --scan reads the whole table for them" if app.broker.traits.scannable.issuperset(hidden) else ""
        out.print(f"{'' if found.seen else 'Nothing to show: '}{instead(hidden)}{scan}.", markup=False, soft_wrap=True)
    if found.is_more:
        out.print(_go_on(found, asked.limit), style="dim", soft_wrap=True)
    for pause in answer.pauses:
        out.print(_paused(pause, wall))


def _states(names: Sequence[str]) -> tuple[MessageState, ...]:
    states = tuple(MessageState(name) for name in dict.fromkeys(names)) or _OPEN
    if {*states} & {*FINISHED} and {*states} - {*FINISHED}:
        raise click.UsageError(
            "ask for completed and cancelled messages apart from the others: they have another order"
        )
    return states


async def _collect(app: Tenure, asked: _Asked, states: Sequence[MessageState]) -> _Answer:
    if len(states) == 1:
        check_shown(app.broker, states, scan=asked.scan)
    shown = [state for state in states if state not in hidden_states(app.broker, states, scan=asked.scan)]
    query = asked.query(app, shown)
    found = await listing(app, query) if shown else Listing(seen=[], is_more=False)
    names = [full_name(app, queue) for queue in asked.queues if not is_pattern(queue)]
    if names and not found.seen and not found.is_more:
        await check_known(app, names)
    pauses = [one for one in await paused(app) if query.queues is None or matches(one.queue, query.queues)]
    return _Answer(msgspec.structs.replace(found, seen=await with_figures(app, found.seen)), pauses)


def _go_on(found: Listing, limit: int) -> str:
    """How far it looked, and how to see the rest."""
    number = f"The first {plural(len(found.seen), 'message')}" if found.seen else "None so far"
    looked = ""
    if found.looked_at is not None and found.looked_at > len(found.seen):
        looked = f" of {found.looked_at:,} looked at"
        if found.looked_until is not None and len(found.seen) < limit:
            looked += f", up to {local(found.looked_until)}"
    on = "" if found.cursor is None else f", --after {found.cursor} goes on"
    return f"{number}{looked}; --limit shows more{on}."


def _paused(pause: Pause, wall: float) -> "Text":
    from rich.text import Text

    rest = one_line(f" {since(pause, wall)}: nothing of it is leased.")
    return Text.assemble((one_line(f"{pause.queue} is paused"), "yellow"), rest)


def _nothing(asked: _Asked, states: Sequence[str]) -> str:
    filters = {"of task": asked.task, "of client": asked.client, "with key": asked.key, "with text": asked.text}
    named = "".join(f" {word} {value!r}" for word, value in filters.items() if value is not None)
    named += f" in queue {' or '.join(map(repr, asked.queues))}" if asked.queues else ""
    if not states and not named and asked.since is None and asked.until is None:
        return "No messages: nothing waits, runs or is dead here."
    what = f"No {' or '.join(states)} message" if states else "No message"
    when = "" if asked.since is None and asked.until is None else " in that time"
    return f"{what}{named}{when}."
