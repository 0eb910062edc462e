"""`tenure findings ack` and `tenure findings silence`."""

import click

from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.duration import DURATION, spoken
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user

_WORDS = click.argument("words", nargs=-1, metavar="[TARGET] FINDING")
_HOUR = 3_600.0


@click.command(short_help="Say that you have seen a finding.")
@_WORDS
@json_option
def ack(words: tuple[str, ...], *, as_json: bool) -> None:
    """Say that you have seen FINDING, such as oldest_age@mail-tasks.

    No more notices are sent, until it fires anew or at a stronger level.
    """
    target, id = _finding(words)
    done = run(find(target), lambda app: _mine(app.operate).ack_finding(id))
    if as_json:
        say_json(done)
        return
    say_line(f"{id}: seen by {done.acked_by}" if done.firing else f"{id}: it has cleared; there is nothing to see")


@click.command(short_help="Silence a finding for a while.")
@_WORDS
@click.option("--for", "seconds", type=DURATION, default=_HOUR, help="For how long; 0: no more. Default: 1h.")
@json_option
def silence(words: tuple[str, ...], seconds: float, *, as_json: bool) -> None:
    """Silence FINDING for an hour, or for another time. It is judged and shown as before."""
    target, id = _finding(words)
    done = run(find(target), lambda app: _mine(app.operate).silence_finding(id, seconds))
    if as_json:
        say_json(done)
        return
    say_line(f"{id}: silenced for {spoken(seconds)}" if seconds else f"{id}: not silenced")


def _finding(words: tuple[str, ...]) -> tuple[str | None, str]:
    target, rest = split(words)
    if len(rest) != 1:
        verb = click.get_current_context().command_path
        raise click.UsageError(f"{verb} {f'{target} ' if target else '[TARGET] '}FINDING")
    return target, rest[0]


def _mine(operate: Operate) -> Operate:
    return operate.bound(by=this_user(), triggered_by="cli")
