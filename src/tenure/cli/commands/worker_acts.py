"""`tenure workers drain` and `tenure workers stop`: have one worker leave, wherever it runs."""

import asyncio

import click

from tenure.app import Tenure
from tenure.cli.completing import complete_worker
from tenure.cli.target import find, json_option, or_default, run, split
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.workers import WorkerAct, WorkerChange
from tenure.client.operator import this_user

#: Between two looks with --wait.
_LOOK_SECONDS = 0.5


@click.command(short_help="Let a worker finish what runs, lease nothing more, and stop.")
@click.argument("words", nargs=-1, metavar="[TARGET] WORKER", shell_complete=complete_worker)
@click.option("--wait", is_flag=True, help="Return when it has stopped: for a hook that runs before a stop.")
@json_option
def drain(words: tuple[str, ...], *, wait: bool, as_json: bool) -> None:
    """Let a worker finish what runs, however long that takes, lease nothing more, and stop with exit code 0.

    WORKER is an id that `tenure workers` shows, or a name that only one worker has. It hears it within a second or two.
    What it leased and did not begin goes back to its queue. A supervisor (--processes) starts no other in its place;
    a service manager may. `tenure workers stop` ends one that drains for too long.

    --wait returns when the worker is no longer there, however long that takes; Ctrl-C ends the wait and not the drain.
    """
    _ask(words, WorkerAct.DRAIN, as_json=as_json, wait=wait)


@click.command(short_help="Stop a worker, as SIGTERM does.")
@click.argument("words", nargs=-1, metavar="[TARGET] WORKER", shell_complete=complete_worker)
@json_option
def stop(words: tuple[str, ...], *, as_json: bool) -> None:
    """Stop a worker, as SIGTERM does: what runs gets its grace, the rest goes back to its queue.

    WORKER is an id that `tenure workers` shows, or a name that only one worker has. A supervisor (--processes) starts
    no other in its place; a service manager may.
    """
    _ask(words, WorkerAct.STOP, as_json=as_json)


def _ask(words: tuple[str, ...], act: WorkerAct, *, as_json: bool, wait: bool = False) -> None:
    # A worker's name has a colon as a target has: a word alone is the worker, where TENURE_URL names the target.
    target, rest = (None, list(words)) if len(words) == 1 and or_default(None) else split(words)
    if len(rest) != 1:
        whole = f"tenure workers {act} {f'{target} ' if target else ''}WORKER"
        raise click.UsageError(f"{'one worker at a time' if rest else 'which worker?'}: {whole}")
    run(find(target), lambda app: _act(app, rest[0], act, as_json=as_json, wait=wait))


async def _act(app: Tenure, id: str, act: WorkerAct, *, as_json: bool, wait: bool) -> None:
    operate = app.operate.bound(by=this_user(), triggered_by="cli")
    change = await (operate.drain_worker if act is WorkerAct.DRAIN else operate.stop_worker)(id)
    if as_json:
        say_json(change)
    else:
        say_line(_told(change))
    while wait and any(  # noqa: ASYNC110 - it may be on another machine
        one.id == change.id for one in (await operate.workers()).workers
    ):
        await asyncio.sleep(_LOOK_SECONDS)


def _told(change: WorkerChange) -> str:
    verb = "drains" if change.act is WorkerAct.DRAIN else "stops"
    if not change.changed:
        return f"{change.id}: it was asked before, and {verb}"
    silent = "" if change.version is not None else "; it reported no version, and an older Tenure does not act on this"
    if change.act is WorkerAct.DRAIN:
        return f"{change.id}: leases nothing more from now on, and stops when what it runs has ended{silent}"
    return f"{change.id}: stops within a second or two, when what it runs has ended or its grace is over{silent}"
