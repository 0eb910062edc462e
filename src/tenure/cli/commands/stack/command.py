"""`tenure stack`: show the stack of the handler that runs a message."""

import asyncio

import click

from tenure.app import Tenure
from tenure.cli.commands.stack.telling import tell
from tenure.cli.target import find, json_option, run, split_one
from tenure.cli.terminal.output import console, say_json
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user

#: Between two looks with --watch.
_WATCH_SECONDS = 2.0


@click.command(short_help="Show what a running handler is doing now.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@click.option("--full", is_flag=True, help="Show the frames of Tenure itself too.")
@click.option("--watch", is_flag=True, help="Repeat every two seconds, until it has ended or Ctrl-C.")
@json_option
def stack(words: tuple[str, ...], *, full: bool, watch: bool, as_json: bool) -> None:
    """Show what the handler of a message is doing now: its stack, asked of the worker that holds it.

    The worker answers within two seconds, also while a handler blocks its event loop. What is shown is file, line and
    function of each frame, how long it runs, the memory of its process and its last progress; never a variable or an
    argument. Lines of source are shown where the file is on this machine. The look is kept in the audit log.

    With --watch and --json each line is a JSON document.
    """
    target, id = split_one(words, "stack", "tenure messages --state leased shows the ids")
    app = find(target)

    async def work(app: Tenure) -> None:
        operate = app.operate.bound(by=this_user(), triggered_by="cli")
        await _show(operate, id, full=full, as_json=as_json)
        while watch:
            await asyncio.sleep(_WATCH_SECONDS)
            await _show(operate, id, full=full, as_json=as_json)

    run(app, work)


async def _show(operate: Operate, id: str, *, full: bool, as_json: bool) -> None:
    answer = await operate.stack(id)
    if as_json:
        say_json(answer)
    else:
        tell(console(), answer, full=full)
