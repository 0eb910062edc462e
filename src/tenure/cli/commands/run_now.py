"""`tenure run-now`: a delayed message runs before its time."""

import click

from tenure.cli.target import find, json_option, run, split_one
from tenure.cli.terminal.output import say_json, say_line
from tenure.cli.terminal.plain import one_line
from tenure.cli.terminal.queue_words import since
from tenure.client.operations.run_now import RunNowResult
from tenure.client.operator import this_user


@click.command(short_help="Run a delayed message now.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@json_option
def run_now(words: tuple[str, ...], *, as_json: bool) -> None:
    """Run a delayed message now, also one that waits for its retry.

    It is ready at once, and the next free worker runs it. Its counters and its priority stay. One that is ready already
    stays as it is. Recorded in the audit log.
    """
    target, id = split_one(words, "run-now", "tenure messages --state delayed shows the ids")
    app = find(target)
    done = run(app, lambda app: app.operate.bound(by=this_user(), triggered_by="cli").run_now(id))
    if as_json:
        say_json(done)
    else:
        say_line(_told(done, app.clock.wall()))


def _told(done: RunNowResult, wall: float) -> str:
    ready = "is ready now" if done.changed else "was ready already; nothing was changed"
    stopped = "" if done.paused is None else f"; its queue is paused {since(done.paused, wall)}"
    return f"{one_line(done.id)}: {ready}{stopped}"
