"""`tenure migrate store`: carry over what an earlier version kept, where this one keeps it elsewhere."""

import asyncio

import click

from tenure.cli.target import find, json_option, target_argument
from tenure.cli.terminal.output import say_json, say_line
from tenure.migration import Carried, Migration
from tenure.text.plural import plural

#: What is counted, and what one of it is called.
_NAMES = {
    "dead_letters": "dead letter", "completed": "completed message", "cancelled": "cancelled message",
    "keys": "done key", "documents": "document", "notices": "pause or limit", "schedules": "schedule",
    "acts": "entry of the audit log", "samples": "sample of a run time", "tallies": "row of statistics",
}  # fmt: skip
_PLURALS = {
    "notices": "pauses and limits", "acts": "entries of the audit log", "samples": "samples of run times",
    "tallies": "rows of statistics",
}  # fmt: skip
_READ_AS_IT_IS = "this store is read as earlier versions wrote it; there is nothing to migrate"


@click.command(short_help="Carry over what an earlier version kept on Azure.")
@target_argument
@click.option("--dry-run", is_flag=True, help="Count what would be carried, and change nothing.")
@json_option
def store(target: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Carry over what an earlier version kept, where this one keeps it elsewhere: on Azure.

    Dead letters, results, keys, access tokens, webhooks, pauses, limits, schedules, the audit log, run times and
    statistics go into the new table; the earlier ones are only read. All messages must be finished before, and no
    worker may run. It can be ended at any moment and repeated: it goes on where it was.
    """
    done = _migrated(find(target).url, dry_run=dry_run)
    if as_json:
        say_json(done)
    else:
        _say(done)


def _migrated(url: str, *, dry_run: bool) -> Migration:
    from tenure.assembly import full_url, migrator
    from tenure.clock import SYSTEM_CLOCK

    made = migrator(url, clock=SYSTEM_CLOCK)
    if made is None:
        return Migration(outcome="nothing", place=full_url(url), is_dry_run=dry_run)
    return asyncio.run(made.migrate(dry_run=dry_run))


def _say(done: Migration) -> None:
    match done.outcome:
        case "nothing":
            say_line(f"{done.place}: {_READ_AS_IT_IS}")
            return
        case "already_carried":
            say_line(f"{done.place}: everything was carried over before; nothing was done")
        case "carried":
            say_line(f"{done.place}: carried over; workers of this version may start")
        case "would_carry":
            say_line(f"{done.place}: would be carried over; nothing was changed")
        case _:
            say_line(f"{done.place}: cannot be carried over yet; nothing was changed")
            _say_unfinished(done)
    for line in _counts(done.carried):
        say_line(f"  {line}")
    say_line("Not carried:")
    for text in done.left_behind:
        say_line(f"  {text}")


def _say_unfinished(done: Migration) -> None:
    found = done.unfinished
    say_line(f"  not finished: {found.waiting} waiting, {found.delayed} delayed, {found.leased} leased")
    if found.announcements:
        say_line(f"  {plural(found.announcements, 'ending')} not announced yet")
    for worker in found.workers:
        say_line(f"  the worker {worker} runs")


def _counts(carried: Carried) -> list[str]:
    counts = {name: getattr(carried, name) for name in _NAMES}
    return [plural(count, _NAMES[name], _PLURALS.get(name, "")) for name, count in counts.items() if count]
