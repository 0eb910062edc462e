"""`tenure top`: watch queues, tasks, workers and leases, live or as one snapshot."""

import contextlib

import click

from tenure.app import Tenure
from tenure.cli.completing import queues_option
from tenure.cli.target import find, is_place, json_option, or_default, run, target_argument
from tenure.cli.terminal.duration import Duration
from tenure.cli.terminal.output import console, say_json
from tenure.client.operations.naming import wanted_queues
from tenure.url_options import safe_url

#: In lines: one snapshot into a pipe shows the first rows of each table.
_ONCE_WIDTH, _ONCE_HEIGHT = 120, 60


@click.command(short_help="Watch queues, tasks, leases and workers, live.")
@target_argument
@queues_option("These queues only")
@click.option(
    "--every", type=Duration(0.2), help="How often to refresh. Default: 1s; less often where each read costs money."
)
@click.option("--once", is_flag=True, help="Print one snapshot and exit; the default without a terminal.")
@json_option
def top(target: str | None, queues: tuple[str, ...], every: float | None, *, once: bool, as_json: bool) -> None:
    """Watch queues, tasks, leases and workers, live: is work flowing, what is stuck, since when.

    The second line says it in one sentence. Rates, durations and errors are of the last minute, added up over all
    workers from what they store every few seconds. Leases are counted down by the store's clock. Looking changes
    nothing.

    Keys: tab for the next view, arrows to choose a row and the column to order by, / to filter, enter to open a
    message, p to pause, ? for all of them, q to quit. With --json or --once one snapshot is printed.
    """
    app = find(target)
    out = console()
    is_live = out.is_terminal and not out.is_dumb_terminal and not as_json and not once
    seconds = every if every is not None else app.broker.traits.snapshot_seconds
    with contextlib.suppress(KeyboardInterrupt) if is_live else contextlib.nullcontext():  # one way to end it
        run(app, lambda app: _show(app, queues, _name(target), seconds, is_live=is_live, as_json=as_json))


async def _show(app: Tenure, queues: tuple[str, ...], name: str, every: float, *, is_live: bool, as_json: bool) -> None:
    from tenure.client.operations.overview.reading import OverviewReader

    access = app.operate.access
    reader = OverviewReader(access, await wanted_queues(access, queues) if queues else None)
    if is_live:
        from tenure.cli.commands.top.live import watch

        await watch(app, reader, name, console(), every_seconds=every)
        return
    overview = await reader.read()
    if as_json:
        say_json(overview)
        return
    from tenure.cli.commands.top.screen import ScreenFrame, snapshot
    from tenure.cli.commands.top.view import TopView

    out = console()
    width = out.width if out.is_terminal else _ONCE_WIDTH
    frame = ScreenFrame(
        overview=overview,
        headline=overview.headline,
        view=TopView(),
        target=name,
        every_seconds=every,
        now=overview.now,
    )
    for line in snapshot(frame, width, _ONCE_HEIGHT):
        out.print(line, soft_wrap=True)


def _name(target: str | None) -> str:
    name = or_default(target)
    return safe_url(name) if is_place(name) else name
