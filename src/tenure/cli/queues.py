"""`tenure queues`: how much lies in each queue, and which are paused."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.duration import Duration, spoken
from tenure.cli.naming import paused, since
from tenure.cli.output import STATE_STYLES, console, count, give_way, plain_table, say_json
from tenure.cli.target import find, json_option, run, target_argument
from tenure.notice import Pause

if TYPE_CHECKING:
    from rich.console import RenderableType

_FIGURES = ("ready", "delayed", "leased", "dead", "oldest")


class Glance(msgspec.Struct, frozen=True):
    """The queues at one moment."""

    depths: tuple[Depth, ...]
    pauses: tuple[Pause, ...]
    wall: float


@click.command(short_help="Show how much lies in each queue, and which are paused.")
@target_argument
@click.option("--watch", "-w", is_flag=True, help="Go on until Ctrl-C; with --json, one document a line.")
@click.option("--every", type=Duration(0.1), default="1s", show_default=True, help="How often --watch looks.")
@json_option
def queues(target: str | None, *, watch: bool, every: float, as_json: bool) -> None:
    """Show how much lies in each queue, and which are paused.

    A dash means that the broker cannot say; 0 means that there are none. "oldest" is the age of what has been ready
    for longest.
    """
    app = find(target)
    if not watch:
        _say(run(app, _look), as_json=as_json)
        return
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        run(app, lambda app: _watch(app, every, as_json=as_json))


async def _look(app: Tenure) -> Glance:
    """Queues with something in them, and those that are paused."""
    pauses = await paused(app)
    depths = {depth.queue: depth for depth in await app.broker.depth() if app.sees(depth.queue)}
    empty = [pause.queue for pause in pauses if pause.queue not in depths]
    depths |= {depth.queue: depth for depth in await app.broker.depth(empty)} if empty else {}
    return Glance(tuple(depths[name] for name in sorted(depths)), tuple(pauses), app.clock.wall())


async def _watch(app: Tenure, every: float, *, as_json: bool) -> None:
    out = console()
    if as_json or not out.is_terminal:
        while True:
            _say(await _look(app), as_json=as_json)
            await asyncio.sleep(every)
    from rich.live import Live

    with Live(table(await _look(app), out.width), console=out, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(every)
            live.update(table(await _look(app), out.width), refresh=True)


def _say(seen: Glance, *, as_json: bool) -> None:
    if not as_json:
        out = console()
        out.print(table(seen, out.width))
        return
    by_queue = {pause.queue: {"at": pause.at, "by": pause.by} for pause in seen.pauses}
    say_json(
        {"queues": [msgspec.structs.asdict(depth) | {"paused": by_queue.get(depth.queue)} for depth in seen.depths]}
    )


def table(seen: Glance, width: int = 80) -> "RenderableType":
    """One row a queue. In a narrow terminal names give way, and no figure is cut."""
    from rich.text import Text

    if not seen.depths:
        return "No queue holds a message."
    by_queue = {pause.queue: pause for pause in seen.pauses}
    rows = plain_table("queue", *_FIGURES, *(["paused"] if by_queue else []), right=_FIGURES)
    for depth in seen.depths:
        about = depth.estimated
        pause = by_queue.get(depth.queue)
        rows.add_row(
            depth.queue,
            count(depth.ready, estimated=about),
            count(depth.delayed, estimated=about),
            count(depth.leased, estimated=about),
            Text(count(depth.dead, estimated=about), style=STATE_STYLES["dead"] if depth.dead else ""),
            spoken(depth.oldest_age_seconds),
            *_paused(pause, seen.wall, shown=bool(by_queue)),
        )
    give_way(
        rows, width, *([("paused", 20)] if by_queue else []), ("queue", 12), *([("paused", 6)] if by_queue else [])
    )
    return rows


def _paused(pause: Pause | None, wall: float, *, shown: bool) -> Sequence[str]:
    return [] if not shown else [""] if pause is None else [since(pause, wall)]
