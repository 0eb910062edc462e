"""`tenure dead redrive` and `tenure dead delete`.

An act says what it will touch, asks where that is more than one message, goes in batches, and leaves an event
in the journal: what happened to a message is always recorded.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.acting import Meter, in_batches, operator
from tenure.cli.asking import announce, ask, dry_run_option, yes_option
from tenure.cli.commands.dead.choosing import DeadChoice, chosen, filters
from tenure.cli.target import find, json_option, run, split_ids
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.cli.terminal.rate import RATE
from tenure.client.operations.dead import named_dead
from tenure.client.redrive import kind_of

#: A line's worth.
_MOST_KINDS = 8
#: This many ids a dry run shows.
_FIRST_IDS = 10


class _Act(msgspec.Struct, frozen=True):
    """One kind of act on dead letters."""

    verb: str
    past: str
    warning: str


_REDRIVE = _Act("redrive", "redriven", "They go back to their queue and run again.")
_DELETE = _Act("delete", "deleted", "Their bodies are gone for good; a record stays.")


def _act_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = json_option(command)
    command = yes_option(command)
    command = dry_run_option(command)
    command = click.option("--limit", "-n", type=click.IntRange(1), help="Stop after this many.")(command)
    command = filters(command)
    command = click.option("--all", "everything", is_flag=True, help="Every dead letter.")(command)
    return click.argument("words", nargs=-1, metavar="[TARGET] [ID]...")(command)


@click.command(short_help="Send dead letters back to their queue.")
@_act_options
@click.option("--rate", type=RATE, help="At this rate at most, as in 50/s or 100/m. Default: all at once.")
def redrive(words: tuple[str, ...], rate: float | None, **options: Any) -> None:
    """Send dead letters back to their queue: counters at zero, history kept.

    Choose them by ID, or with --queue, --task, --reason, --group, --since and --before (all that are given must
    hold), or --all; --limit takes the first ones of them. Asks before it touches more than one. With --rate they go
    back evenly, so that whatever they failed on is not overrun. Ctrl-C ends it and says how many were moved; run the
    same command again for the rest.
    """
    _run(_REDRIVE, words, rate=rate, **options)


@click.command(short_help="Remove dead letters; the record stays.")
@_act_options
def delete(words: tuple[str, ...], **options: Any) -> None:
    """Remove dead letters for good; a record of each stays.

    Choose them by ID, or with --queue, --task, --reason, --group, --since and --before (all that are given must
    hold), or --all; --limit takes the first ones of them. Asks before it touches more than one.
    """
    _run(_DELETE, words, rate=None, **options)


def _run(
    act: _Act, words: tuple[str, ...], *, rate: float | None, as_json: bool, dry_run: bool, yes: bool, **by: Any
) -> None:
    target, given = split_ids(words)
    choice = DeadChoice(ids=tuple(given), **by)
    choice.check()
    app = find(target)
    queue_of, summary = run(app, lambda app: _choose(app, choice))
    ids = list(queue_of)
    many = plural(len(ids), "dead letter")
    asks = len(ids) > 1 and not (yes or dry_run)
    if not as_json or asks:
        pace = f", in about {spoken(len(ids) / rate)}" if rate is not None and ids else ""
        announce(f"{'Would' if dry_run else 'Will'} {act.verb} {many}{summary}{pace}", as_json=as_json)
    if dry_run or not ids:
        if as_json:
            say_json({act.past: [], "would": ids, "dry_run": dry_run})
        elif ids:
            _say_first(ids)
        return
    if asks:
        would = f"{plural(len(ids), 'message')} would be {act.past}"
        ask(f"{act.verb.capitalize()} {len(ids)}?", would=would, warning=act.warning)
    meter = Meter(act.past, len(ids), slow=rate is not None, quiet=as_json)
    with meter.running() as told:
        moved = run(app, lambda app: _carry_out(app, act, queue_of, rate, told))
    if as_json:
        say_json({act.past: moved, "not_dead_any_more": sorted(set(ids) - set(moved)), "dry_run": False})
        return
    say_line(f"{act.past.capitalize()}: {len(moved):,}")
    if len(moved) < len(ids):
        say_line(f"{len(ids) - len(moved):,} were no longer dead by then and were left alone")


def _say_first(ids: list[str]) -> None:
    for id in ids[:_FIRST_IDS]:
        say_line(f"  {id}")
    if len(ids) > _FIRST_IDS:
        say_line(f"  … and {len(ids) - _FIRST_IDS:,} more; --json shows all")


async def _choose(app: Tenure, choice: DeadChoice) -> tuple[dict[str, str], str]:
    """The ids with their queues, and what they are in a few words."""
    if choice.ids:
        return await named_dead(app.operate.access, choice.ids), ""
    queue_of: dict[str, str] = {}
    kinds: Counter[str] = Counter()
    async for letter in chosen(app, choice):
        queue_of[letter.browsed.id] = letter.browsed.queue
        kinds[kind_of(letter)] += 1
    summary = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common(_MOST_KINDS))
    return queue_of, f": {summary}{', …' if len(kinds) > _MOST_KINDS else ''}" if kinds else ""


async def _carry_out(
    app: Tenure, act: _Act, queue_of: dict[str, str], rate: float | None, told: Callable[[int], None]
) -> list[str]:
    operate = operator(app)
    do = operate.redrive if act is _REDRIVE else operate.delete
    return await in_batches(app, queue_of, do, told=told, per_second=rate)
