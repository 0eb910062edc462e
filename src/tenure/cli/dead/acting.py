"""`tenure dead redrive` and `tenure dead delete`.

An act says what it will touch, asks where that is more than one message, goes in batches, and leaves an event
in the journal: what happened to a message is always recorded.
"""

import getpass
import socket
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.dead.choosing import Choice, chosen, filters, named
from tenure.cli.failing import NotConfirmed
from tenure.cli.output import plural, say_json
from tenure.cli.target import find, json_option, run, split
from tenure.event import Event, EventKind


class _Act(msgspec.Struct, frozen=True):
    """One of the two things that can be done with dead letters."""

    verb: str
    past: str
    kind: EventKind
    warning: str

    async def on(self, app: Tenure, ids: Sequence[str]) -> list[str]:
        """Do it; the ids that were moved."""
        do = app.broker.redrive if self.kind is EventKind.REDRIVEN else app.broker.delete
        return await do(ids)


_REDRIVE = _Act("redrive", "redriven", EventKind.REDRIVEN, "They go back to their queue and run again.")
_DELETE = _Act("delete", "deleted", EventKind.DELETED, "Their bodies are gone for good; a record stays.")


def _act_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = json_option(command)
    command = click.option("--yes", "-y", is_flag=True, help="Do not ask.")(command)
    command = click.option("--dry-run", is_flag=True, help="Only say what would be touched.")(command)
    command = filters(command)
    command = click.option("--all", "everything", is_flag=True, help="Every dead letter.")(command)
    return click.argument("words", nargs=-1, metavar="[TARGET] [ID]...")(command)


@click.command(short_help="Send dead letters back to their queue.")
@_act_options
def redrive(words: tuple[str, ...], **options: Any) -> None:
    """Send dead letters back to their queue: counters at zero, history kept.

    Choose them by ID, or with --queue, --task and --reason (all that are given must hold), or --all. Asks before
    it touches more than one.
    """
    _run(_REDRIVE, words, **options)


@click.command(short_help="Remove dead letters; the record stays.")
@_act_options
def delete(words: tuple[str, ...], **options: Any) -> None:
    """Remove dead letters for good; a record of each stays.

    Choose them by ID, or with --queue, --task and --reason (all that are given must hold), or --all. Asks before
    it touches more than one.
    """
    _run(_DELETE, words, **options)


def _run(act: _Act, words: tuple[str, ...], *, as_json: bool, dry_run: bool, yes: bool, **by: Any) -> None:
    target, ids = split(words)
    choice = Choice(ids=tuple(dict.fromkeys(ids)), **by)
    choice.check()
    app = find(target)
    ids, summary = run(app, lambda app: _choose(app, choice))
    if not as_json or (len(ids) > 1 and not (yes or dry_run)):
        click.echo(
            f"{'Would' if dry_run else 'Will'} {act.verb} {plural(len(ids), 'dead letter')}{summary}", err=as_json
        )
    if dry_run or not ids:
        if as_json:
            say_json({act.past: [], "would": ids, "dry_run": dry_run})
        return
    if len(ids) > 1 and not yes:
        _ask(act, len(ids))
    moved = run(app, lambda app: _carry_out(app, act, ids))
    if as_json:
        say_json({act.past: moved, "not_dead_any_more": sorted(set(ids) - set(moved)), "dry_run": False})
        return
    click.echo(f"{act.past.capitalize()}: {len(moved)}")
    if len(moved) < len(ids):
        click.echo(f"{len(ids) - len(moved)} were no longer dead when it came to it; they were left alone")


async def _choose(app: Tenure, choice: Choice) -> tuple[list[str], str]:
    """The ids, and what they are in a few words."""
    if choice.ids:
        await named(app, choice.ids)
        return list(choice.ids), ""
    ids: list[str] = []
    kinds: Counter[str] = Counter()
    async for one in chosen(app, choice):
        ids.append(one.browsed.id)
        reason = "unknown" if one.browsed.reason is None else one.browsed.reason.code
        kinds[f"{one.task or 'unreadable'} ({reason})"] += 1
    summary = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common(8))
    return ids, f": {summary}{', …' if len(kinds) > 8 else ''}" if kinds else ""  # noqa: PLR2004 - a line's worth


def _ask(act: _Act, number: int) -> None:
    if not _is_watched():
        many = plural(number, "message")
        msg = f"{many} would be {act.past}, and nobody is there to ask: add --yes; nothing was changed"
        raise NotConfirmed(msg)
    click.echo(act.warning, err=True)
    if not click.confirm(f"{act.verb.capitalize()} {number}?", err=True):
        raise NotConfirmed("not confirmed; nothing was changed")


def _is_watched() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


async def _carry_out(app: Tenure, act: _Act, ids: Sequence[str]) -> list[str]:
    """In batches; each is recorded before the next begins, so that an interruption leaves no unrecorded act."""
    moved: list[str] = []
    size = app.broker.traits.batch_limit
    for start in range(0, len(ids), size):
        batch = await act.on(app, ids[start : start + size])
        if batch:
            data = {"count": len(batch), "ids": batch, "triggered_by": "cli", "by": _who()}
            await app.state.journal.append([Event(act.kind, app.clock.wall(), data=data)])
        moved += batch
    return moved


def _who() -> str:
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container's user without a name
        return socket.gethostname()
