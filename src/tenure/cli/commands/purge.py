"""`tenure purge`: remove everything that waits in a queue."""

from collections.abc import Callable, Sequence
from contextlib import aclosing

import click

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.acting import Interrupted, Meter, operator, stoppable
from tenure.cli.asking import announce, ask, dry_run_option, yes_option
from tenure.cli.completing import complete_words
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.output import count, plural, say_json, say_line
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.naming import check_known, full_name
from tenure.client.operator import PURGEABLE
from tenure.message import MessageState

purged_states_option = click.option(
    "--state",
    "-s",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in PURGEABLE]),
    default=(MessageState.READY.value, MessageState.DELAYED.value),
    help="Those in this state; repeat it for more. Default: ready and delayed.",
)


@click.command(short_help="Remove everything that waits in a queue.")
@click.argument("words", nargs=-1, metavar="[TARGET] QUEUE", shell_complete=complete_words(tasks=False, most=1))
@purged_states_option
@dry_run_option
@yes_option
@json_option
def purge(words: tuple[str, ...], states: tuple[str, ...], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove everything that waits in a queue; a record of each message stays.

    What runs is not touched: `tenure cancel` takes it back. What is sent meanwhile may be removed too, or stay:
    pause the queue, or stop the senders, for a clean cut. Always asks first; without a terminal it needs --yes.
    """
    target, rest = split(words)
    if len(rest) != 1:
        raise click.UsageError("name one queue; without TENURE_URL, after TARGET")
    app = find(target)
    queue = full_name(app.operate.access, rest[0])
    wanted = tuple(MessageState(state) for state in dict.fromkeys(states))
    depth = run(app, lambda app: _depth(app, queue, wanted))
    counts = {state: _count(depth, state) for state in wanted}
    total = None if None in counts.values() else sum(number or 0 for number in counts.values())
    kinds = ", ".join(f"{count(number, estimated=depth.estimated)} {state}" for state, number in counts.items())
    many = "messages" if total is None else plural(total, "message")
    if not as_json or not (yes or dry_run):
        kept = f"; {count(depth.leased)} running stay" if depth.leased else ""
        announce(f"{'Would' if dry_run else 'Will'} remove {many} from {queue}: {kinds}{kept}", as_json=as_json)
    if dry_run or total == 0:
        if as_json:
            say_json({"queue": queue, "purged": 0, "would": counts, "dry_run": dry_run})
        return
    if not yes:
        warning = "Bodies are gone for good; a record of each message stays."
        ask(f"Purge {queue}?", would=f"{many} would be purged", warning=warning)
    meter = Meter("purged", total, quiet=as_json)
    with meter.running() as told:
        run(app, lambda app: _purge(app, queue, wanted, told))
    if as_json:
        say_json({"queue": queue, "purged": meter.done, "would": counts, "dry_run": False})
    else:
        say_line(f"Purged: {meter.done:,}")


async def _depth(app: Tenure, queue: str, states: Sequence[MessageState]) -> Depth:
    check_shown(app.broker, states, consequence="Nothing was changed")
    await check_known(app.operate.access, [queue], consequence="Nothing was changed")
    (depth,) = await app.broker.depth([queue])
    return depth


def _count(depth: Depth, state: MessageState) -> int | None:
    number: int | None = getattr(depth, state.value)
    return number


async def _purge(app: Tenure, queue: str, states: Sequence[MessageState], told: Callable[[int], None]) -> None:
    with stoppable() as stop:
        async with aclosing(operator(app).purge(queue, states)) as batches:
            async for number in batches:
                told(number)
                if stop.is_asked:
                    raise Interrupted
