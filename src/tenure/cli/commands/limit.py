"""`tenure limit`: how many messages of a queue may run at once or start in a time, over all workers."""

import click

from tenure.app import Tenure
from tenure.cli.completing import complete_words
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.limits import LimitChange
from tenure.client.operator import this_user


@click.command(short_help="Limit how many of a queue run at once or start in a time.")
@click.argument("words", nargs=-1, metavar="[TARGET] QUEUE", shell_complete=complete_words(tasks=False))
@click.option("--running", type=click.IntRange(min=1), metavar="N", help="At most so many at once, over all workers.")
@click.option("--rate", metavar="N/TIME", help="At most so many starts in a time: 100/m, 5/s, 1/10s.")
@click.option("--clear", is_flag=True, help="Remove what was set here; the limit of the code counts again.")
@click.option("--yes", "-y", is_flag=True, help="Also a queue that does not exist yet.")
@json_option
def limit(
    words: tuple[str, ...], *, running: int | None, rate: str | None, clear: bool, yes: bool, as_json: bool
) -> None:
    """Limit a queue over all workers, instead of what its code says, until --clear.

    Workers notice within a second or so. What runs goes on: lowering a limit ends nothing. A burst of one second's
    worth may start at once, at least one message. On SQS and Azure Storage Queues each worker keeps its part of it.
    """
    target, queues = split(words)
    if len(queues) != 1:
        raise click.UsageError("name one queue; without TENURE_URL, after TARGET")
    if clear == (running is not None or rate is not None):
        raise click.UsageError("give --running or --rate, or --clear" + (", not both" if clear else ""))
    (queue,) = queues
    app = find(target)

    async def act(app: Tenure) -> LimitChange:
        operate = app.operate.bound(by=this_user(), triggered_by="cli")
        if clear:
            return await operate.clear_limit(queue)
        return await operate.limit(queue, running=running, rate=rate, must_exist=not yes)

    change = run(app, act)
    if as_json:
        say_json(change)
    else:
        say_line(_told(change, is_cleared=clear))


def _told(change: LimitChange, *, is_cleared: bool) -> str:
    if not is_cleared:
        return f"{change.queue}: limited to {change.limit}"
    if change.limit is not None:
        return f"{change.queue}: {'cleared; ' if change.changed else ''}limited to {change.limit} by its code"
    return f"{change.queue}: {'no longer limited' if change.changed else 'it was not limited'}"
