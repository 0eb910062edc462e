"""`tenure client quota`: how much of an installation a client may use."""

import click

from tenure.app import Tenure
from tenure.cli.commands.client.words import WORDS, one_client, saying_that_yes_helps
from tenure.cli.target import find, json_option, run
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.clients import QuotaChange
from tenure.client.operator import this_user


@click.command(short_help="Set how much of the installation a client may use.")
@WORDS
@click.option("--waiting", type=click.IntRange(min=0), metavar="N", help="At most so many wait; others are refused.")
@click.option("--running", type=click.IntRange(min=1), metavar="N", help="At most so many at once, over all workers.")
@click.option("--rate", metavar="N/TIME", help="At most so many starts in a time: 100/m, 5/s, 1/10s.")
@click.option("--payload", metavar="SIZE", help="At most so large a payload: 65536, 64KiB, 1MB.")
@click.option("--clear", is_flag=True, help="Remove what was set here; the defaults count again.")
@click.option("--yes", "-y", is_flag=True, help="Also a client that is not known yet.")
@json_option
def quota(
    words: tuple[str, ...],
    *,
    waiting: int | None,
    running: int | None,
    rate: str | None,
    payload: str | None,
    clear: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Set the quota of a client, instead of the defaults (TENURE_QUOTA_…), until --clear.

    A message over --waiting is refused with quota_exceeded, over HTTP with 429. Retries, redrives and what handlers
    hand on count, but are never refused. On SQS and Azure Storage Queues the number that wait is an estimate.

    Senders and workers notice within seconds. What waits or runs already goes on.
    """
    target, name = one_client(words)
    if clear == any(one is not None for one in (waiting, running, rate, payload)):
        wanted = "give --waiting, --running, --rate or --payload, or --clear"
        raise click.UsageError(wanted + (", not both" if clear else ""))
    app = find(target)

    async def act(app: Tenure) -> QuotaChange:
        operate = app.operate.bound(by=this_user(), triggered_by="cli")
        if clear:
            return await operate.clear_quota(name)
        with saying_that_yes_helps():
            return await operate.quota(
                name, waiting=waiting, running=running, rate=rate, payload=payload, must_exist=not yes
            )

    change = run(app, act)
    if as_json:
        say_json(change)
    else:
        say_line(_told(change, is_cleared=clear))


def _told(change: QuotaChange, *, is_cleared: bool) -> str:
    if not is_cleared:
        return f"{change.client}: at most {change.quota}"
    if change.quota is not None:
        return f"{change.client}: {'cleared; ' if change.changed else ''}at most {change.quota} by the defaults"
    return f"{change.client}: {'no longer has a quota' if change.changed else 'it had no quota'}"
