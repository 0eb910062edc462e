"""`tenure queues`: how many messages each queue holds, and which are paused."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import Duration, spoken, watch_seconds
from tenure.cli.terminal.output import STATE_STYLES, console, count, give_way, plain_table, say_json
from tenure.cli.terminal.queue_words import since
from tenure.notice import Pause

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tenure.client.operations.queues import QueueList, QueueStatus

_EVERY_SECONDS = 1.0
_FIGURES = ("ready", "delayed", "leased", "dead", "oldest")


@click.command(short_help="Show how many messages each queue holds, and its pauses.")
@target_argument
@click.option("--watch", "-w", is_flag=True, help="Repeat until Ctrl-C; with --json, one document a line.")
@click.option("--every", type=Duration(0.1), help="How often --watch refreshes. Default: 1s.")
@json_option
def queues(target: str | None, *, watch: bool, every: float | None, as_json: bool) -> None:
    """Show how many messages each queue holds, its pauses and limits.

    A dash means that the broker cannot say; 0 means that there are none. "oldest" is the age of what has been ready
    for longest.
    """
    seconds = watch_seconds(every, _EVERY_SECONDS, watch=watch)
    app = find(target)
    if not watch:
        _say(run(app, _look), as_json=as_json)
        return
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        run(app, lambda app: _watch(app, seconds, as_json=as_json))


async def _look(app: Tenure) -> tuple["QueueList", float]:
    return await app.operate.queues(), app.clock.wall()


async def _watch(app: Tenure, every: float, *, as_json: bool) -> None:
    out = console()
    if as_json or not out.is_terminal:
        while True:
            _say(await _look(app), as_json=as_json)
            await asyncio.sleep(every)
    from rich.live import Live

    with Live(table(*await _look(app), out.width), console=out, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(every)
            live.update(table(*await _look(app), out.width), refresh=True)


def _say(seen: tuple["QueueList", float], *, as_json: bool) -> None:
    found, wall = seen
    if as_json:
        say_json(found)
        return
    out = console()
    out.print(table(found, wall, out.width))


def table(found: "QueueList", wall: float, width: int = 80) -> "RenderableType":
    """Draw one row a queue. In a narrow terminal names give way, and no figure is cut."""
    from rich.text import Text

    if not found.queues:
        return "No queue holds a message."
    any_paused = any(one.paused is not None for one in found.queues)
    any_limit = any(one.limit is not None for one in found.queues)
    more = [*(["paused"] if any_paused else []), *(["limit"] if any_limit else [])]
    rows = plain_table("queue", *_FIGURES, *more, right=_FIGURES)
    for depth in found.queues:
        about = depth.estimated
        rows.add_row(
            depth.queue,
            count(depth.ready, estimated=about),
            count(depth.delayed, estimated=about),
            count(depth.leased, estimated=about),
            Text(count(depth.dead, estimated=about), style=STATE_STYLES["dead"] if depth.dead else ""),
            spoken(depth.oldest_age_seconds),
            *_paused(depth.paused, wall, shown=any_paused),
            *_limit(depth, shown=any_limit),
        )
    give_way(rows, width, *((one, 20) for one in more), ("queue", 12), *((one, 6) for one in more))
    return rows


def _paused(pause: Pause | None, wall: float, *, shown: bool) -> Sequence[str]:
    return [] if not shown else [""] if pause is None else [since(pause, wall)]


def _limit(queue: "QueueStatus", *, shown: bool) -> Sequence[str]:
    """The limit, and whether messages wait for it."""
    if not shown:
        return []
    if queue.limit is None:
        return [""]
    return [f"{queue.limit}, waits for it" if queue.waits_for_limit else str(queue.limit)]
