"""`tenure events`: what happened, from the journal; with --follow as it happens."""

import contextlib
from datetime import datetime

import click

from tenure.app import Tenure
from tenure.cli.commands.events.reading import MOST_EVENTS, follow, last
from tenure.cli.commands.events.telling import Teller, say_cut
from tenure.cli.completing import complete_task, queues_option
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.moment import DURATION_OR_MOMENT, moment_of
from tenure.cli.terminal.output import console, say_line
from tenure.client.operations.event_choice import EventChoice
from tenure.client.operations.ids import find_record
from tenure.client.operations.naming import wanted_queues
from tenure.errors import MessageNotFound
from tenure.event import EventKind


@click.command(short_help="Show what happened, or what happens now.")
@target_argument
@click.option("--follow", "-f", "is_following", is_flag=True, help="Follow new events, until Ctrl-C.")
@click.option(
    "--kind",
    "-k",
    "kinds",
    multiple=True,
    type=click.Choice([kind.value for kind in EventKind]),
    metavar="KIND",
    help="Of this kind only, such as dead; repeat it for more.",
)
@queues_option("Of this queue only")
@click.option("--task", "-t", shell_complete=complete_task, help="Of this task only.")
@click.option("--message", "-m", metavar="ID", help="About this message only; completed too.")
@click.option("--owner", "-o", metavar="WORKER", help="About this worker only: its id, or its name.")
@click.option("--since", type=DURATION_OR_MOMENT, help="Since then, as in 2h (ago) or 2030-01-31T09:00Z.")
@click.option(
    "--number", "-n", type=click.IntRange(0), default=50, show_default=True, help="Show this many of the newest."
)
@click.option("--all", "everything", is_flag=True, help="Also completed messages.")
@json_option
def events(
    target: str | None,
    kinds: tuple[str, ...],
    queues: tuple[str, ...],
    since: datetime | float | None,
    number: int,
    *,
    is_following: bool,
    as_json: bool,
    message: str | None,
    **given: str | bool | None,
) -> None:
    """Show what happened, or, with --follow, what happens now.

    Every place keeps its events in a journal, for a week unless TENURE_JOURNAL_KEEP says otherwise. Completed
    messages are most of them, so they are counted and shown only with --all, --kind completed or --message.

    --follow goes on by itself after the store was away. If events were forgotten meanwhile, it says that there is a
    gap. With --json each line is a JSON document.
    """
    app = find(target)

    async def work(app: Tenure) -> None:
        choice = EventChoice(
            kinds=frozenset(kinds),
            queues=await wanted_queues(app.operate.access, queues) if queues else None,
            message=None if message is None else await _whole_id(app, message),
            since=moment_of(since, app.clock.wall()),
            **given,  # type: ignore[arg-type]  # click's
        )
        await _tell(app, choice, number, is_following=is_following, as_json=as_json)

    with contextlib.suppress(KeyboardInterrupt) if is_following else contextlib.nullcontext():  # the way to end it
        run(app, work)


async def _tell(app: Tenure, choice: EventChoice, number: int, *, is_following: bool, as_json: bool) -> None:
    found = await last(app, choice, number)
    teller = Teller(console(), as_json=as_json)
    for stored in found.events:
        teller.event(stored)
    teller.left_out(found.left_out)
    if found.is_cut and not as_json:
        say_cut(MOST_EVENTS)
    if not is_following:
        if not found.events and not as_json:
            say_line("No such event.", err=True)
        return
    async for heard in follow(app, choice, found.place):
        teller.tell(heard, app.clock.wall())


async def _whole_id(app: Tenure, word: str) -> str:
    """The message may be forgotten, or not be there yet: then its id is taken as it is."""
    try:
        return (await find_record(app.operate.access, word)).id
    except MessageNotFound:
        return word
