"""`tenure queues`: how much lies in each queue."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.duration import DURATION, spoken
from tenure.cli.output import console, count, plain_table, say_json
from tenure.cli.target import find, json_option, run, target_argument

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command(short_help="Show how much lies in each queue.")
@target_argument
@click.option("--watch", "-w", is_flag=True, help="Go on until Ctrl-C; with --json, one document a line.")
@click.option("--every", type=DURATION, default="1s", show_default=True, help="How often --watch looks.")
@json_option
def queues(target: str | None, *, watch: bool, every: float, as_json: bool) -> None:
    """Show how much lies in each queue.

    A dash means that the broker cannot say; 0 means that there are none.
    """
    app = find(target)
    if not watch:
        depths = run(app, lambda app: app.broker.depth())
        _say(depths, as_json=as_json)
        return
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        run(app, lambda app: _watch(app, max(0.1, every), as_json=as_json))


async def _watch(app: Tenure, every: float, *, as_json: bool) -> None:
    out = console()
    if as_json or not out.is_terminal:
        while True:
            _say(await app.broker.depth(), as_json=as_json)
            await asyncio.sleep(every)
    from rich.live import Live

    with Live(table(await app.broker.depth()), console=out, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(every)
            live.update(table(await app.broker.depth()), refresh=True)


def _say(depths: Sequence[Depth], *, as_json: bool) -> None:
    if as_json:
        say_json({"queues": depths})
        return
    console().print(table(depths))


def table(depths: Sequence[Depth]) -> "RenderableType":
    """One row a queue."""
    if not depths:
        return "No queue holds a message."
    rows = plain_table("queue", "ready", "delayed", "leased", "dead", "oldest", right=_FIGURES)
    for depth in sorted(depths, key=lambda depth: depth.queue):
        about = depth.estimated
        rows.add_row(
            depth.queue,
            count(depth.ready, estimated=about),
            count(depth.delayed, estimated=about),
            count(depth.leased, estimated=about),
            count(depth.dead, estimated=about),
            spoken(depth.oldest_age_seconds),
            style="red" if depth.dead else "",
        )
    return rows


_FIGURES = ("ready", "delayed", "leased", "dead", "oldest")
