"""`tenure webhooks replay`."""

from datetime import datetime

import click

from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.moment import MOMENT
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.cli.terminal.rate import RATE
from tenure.client.operator import this_user


@click.command(short_help="Send failed deliveries once more.")
@click.argument("words", nargs=-1, metavar="[TARGET] [DELIVERY]...")
@click.option("--endpoint", metavar="NAME", help="All failed deliveries of this endpoint.")
@click.option("--since", type=MOMENT, help="All that failed from this moment on.")
@click.option("--before", type=MOMENT, help="All that failed before this moment.")
@click.option("--rate", type=RATE, help="At most so many a second, as in 10/s.")
@click.option("--dry-run", is_flag=True, help="Only say how many.")
@json_option
def replay(
    words: tuple[str, ...],
    endpoint: str | None,
    since: datetime | None,
    before: datetime | None,
    rate: float | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Send failed deliveries once more: those that are named, or all that the options mean.

    Their webhook-id stays the same, so a receiver that has them already can ignore them.

    \b
    tenure webhooks replay jobs:app --endpoint orders --dry-run
    tenure webhooks replay jobs:app --endpoint orders --rate 10/s
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, ids = split(words)
    if not ids and endpoint is None and since is None and before is None:
        raise click.UsageError("which deliveries? Name them, or give --endpoint, --since or --before")
    done = run(
        find(target),
        lambda app: app.operate.bound(by=this_user(), triggered_by="cli").replay(
            ids, endpoint=endpoint, since=_seconds(since), before=_seconds(before), rate=rate, dry_run=dry_run
        ),
    )
    if as_json:
        say_json(done)
    elif dry_run:
        say_line(f"{plural(done.found, 'delivery', 'deliveries')} would be sent once more; nothing was changed")
    else:
        more = "; there are more, so run it again" if done.more else ""
        say_line(f"{plural(done.done, 'delivery', 'deliveries')} sent once more{more}")


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
