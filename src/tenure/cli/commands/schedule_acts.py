"""`tenure schedules run`, `pause` and `resume`."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from tenure.cli.completing import complete_schedule
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user

T = TypeVar("T")
_WORDS = click.argument("words", nargs=-1, metavar="[TARGET] NAME", shell_complete=complete_schedule)


@click.command("run", short_help="Send one message of a schedule now.")
@_WORDS
@json_option
def run_(words: tuple[str, ...], *, as_json: bool) -> None:
    """Send one message of a schedule now, outside its ticks.

    TARGET is an app: the schedule's task and arguments stand in its code. While an earlier message of the schedule
    waits, nothing new is stored.
    """
    done = _act("run", words, lambda operate, name: operate.run_schedule(name))
    if as_json:
        say_json(done)
    elif done.duplicate:
        say_line(f"{done.name}: nothing new was stored; {done.message_id} of this schedule waits already")
    else:
        say_line(f"{done.name}: sent {done.message_id}")


@click.command(short_help="Send nothing for a schedule's ticks until it is resumed.")
@_WORDS
@json_option
def pause(words: tuple[str, ...], *, as_json: bool) -> None:
    """Send nothing for a schedule's ticks until it is resumed. The ticks of the pause are not made up for."""
    done = _act("pause", words, lambda operate, name: operate.pause_schedule(name))
    if as_json:
        say_json(done)
    else:
        say_line(f"{done.name}: {'paused; nothing is sent for its ticks' if done.changed else 'it was paused before'}")


@click.command(short_help="Let a paused schedule go on with its next tick.")
@_WORDS
@json_option
def resume(words: tuple[str, ...], *, as_json: bool) -> None:
    """Let a paused schedule go on with its next tick."""
    done = _act("resume", words, lambda operate, name: operate.resume_schedule(name))
    if as_json:
        say_json(done)
    else:
        say_line(f"{done.name}: {'resumed; it goes on with its next tick' if done.changed else 'it was not paused'}")


def _act(verb: str, words: tuple[str, ...], act: Callable[[Operate, str], Awaitable[T]]) -> T:
    target, rest = split(words)
    if len(rest) != 1:
        whole = f"tenure schedules {verb} {f'{target} ' if target else ''}NAME"
        raise click.UsageError(f"{'one schedule at a time' if rest else 'which schedule?'}: {whole}")
    return run(find(target), lambda app: act(app.operate.bound(by=this_user(), triggered_by="cli"), rest[0]))
