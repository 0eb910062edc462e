"""`tenure client weight`: how large the part of a client in the time of workers is."""

import click

from tenure.app import Tenure
from tenure.cli.commands.client.words import WORDS, one_client, saying_that_yes_helps
from tenure.cli.target import find, json_option, run
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.client_weights import WeightChange
from tenure.client.operator import this_user


@click.command(short_help="Set how large a client's part of the work time is.")
@WORDS
@click.option("--set", "weight", type=float, metavar="N", help="So many times the part of a client of weight 1.")
@click.option("--clear", is_flag=True, help="Remove what was set here; TENURE_CLIENT_WEIGHTS counts again, else 1.")
@click.option("--yes", "-y", is_flag=True, help="Also a client that is not known yet.")
@json_option
def weight(words: tuple[str, ...], *, weight: float | None, clear: bool, yes: bool, as_json: bool) -> None:
    """Set the weight of a client in the time of all workers that serve several, until --clear.

    A client of weight 3 gets three times the work time of one of weight 1, while both have something waiting. Workers
    notice within a second or so.

    \b
    tenure client weight jobs:app acme --set 3
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, name = one_client(words)
    if clear == (weight is not None):
        raise click.UsageError("give --set or --clear" + (", not both" if clear else ""))
    app = find(target)

    async def act(app: Tenure) -> WeightChange:
        operate = app.operate.bound(by=this_user(), triggered_by="cli")
        if weight is None:
            return await operate.clear_weight(name)
        with saying_that_yes_helps():
            return await operate.weigh_client(name, weight, must_exist=not yes)

    change = run(app, act)
    if as_json:
        say_json(change)
    elif change.weight is not None:
        say_line(f"{change.client}: weight {change.weight:g}{'' if change.changed else ', as before'}")
    else:
        say_line(f"{change.client}: {'cleared' if change.changed else 'it had no weight'}")
