"""`tenure touch`: give a running message more time."""

import click

from tenure.cli.target import find, json_option, run, split_one
from tenure.cli.terminal.duration import exact
from tenure.cli.terminal.output import say_json, say_line
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.leases import TouchedLease
from tenure.client.operator import this_user
from tenure.lease import LeaseState


@click.command(short_help="Give a running message more time.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@click.option("--seconds", type=float, help="Last at least so long from now; default: the lease's own length.")
@json_option
def touch(words: tuple[str, ...], *, seconds: float | None, as_json: bool) -> None:
    """Give a running message more time: its lease lasts at least so long from now.

    It stays with its worker, which goes on as before; a lease is never shortened. A worker whose heartbeat is off does
    not notice, and ends the run when it meant to. Recorded in the audit log.
    """
    target, id = split_one(words, "touch", "tenure messages --state leased shows the ids")

    app = find(target)
    touched = run(app, lambda app: app.operate.bound(by=this_user(), triggered_by="cli").touch(id, seconds))
    if as_json:
        say_json(touched)
    else:
        say_line(_told(touched))


def _told(touched: TouchedLease) -> str:
    lasts = (
        f"{one_line(touched.id)}: its lease lasts {exact(touched.deadline_in)} from now, on {one_line(touched.owner)}"
    )
    if touched.state is LeaseState.UNCERTAIN:
        lasts += "; the queue did not confirm it, and may show the message sooner, which changes nothing"
    return lasts
