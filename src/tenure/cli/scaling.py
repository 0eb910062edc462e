"""`tenure scaling`: how many workers each queue needs, and why.

The arithmetic is `timing/scaling.py`; the broker says what lies there, the journal how long runs took, and the roster
who is there now.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.app import Tenure
from tenure.broker import Depth, Query
from tenure.cli.completing import complete_queue
from tenure.cli.duration import DURATION, Duration, exact
from tenure.cli.expected_pace import expected_pace
from tenure.cli.output import console, count, keep_figures, plain_table, say_json
from tenure.cli.target import find, json_option, run, target_argument
from tenure.client.browse_all import pages
from tenure.client.operations.naming import check_known, full_name
from tenure.client.operations.presence import living
from tenure.message import MessageState
from tenure.owner import Owner
from tenure.rules.queue_pattern import is_pattern, matches
from tenure.survey import survey
from tenure.timing.scaling import Backlog, Pace, ScalingRules, compare

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: Delayed messages of a queue are looked at up to so many, to see which are due.
_MOST_DELAYED = 2_000
_PAGE = 500
_FIGURES = ("ready", "leased", "due", "mean", "q99", "now", "workers")
_NARROW = ("ready\nleased", "due\nnow", "mean\nq99", "workers\nready only")
#: From this width on they stand in one line.
_WIDE = 80


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """One queue and the workers that it needs. None: cannot be known."""

    queue: str
    ready: int | None
    leased: int | None
    #: Delayed messages that are due within the target age.
    due: int | None
    estimated: bool
    #: None: no run of this queue was measured within the window, and no profile says what to expect.
    mean_seconds: float | None
    q99_seconds: float | None
    runs: int
    #: The profile that the figures come from, while no run was measured. None: they were measured, or there are none.
    profile: str | None = None
    #: Workers that serve it now.
    workers_now: int
    slots: int
    desired: int | None
    why: str
    #: What looking at the ready ones alone would say, and how many running messages that would interrupt.
    visible_only: int | None
    interrupted: int | None


@click.command(short_help="Show how many workers each queue needs, and why.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option(
    "--target-age",
    "target_age_seconds",
    type=Duration(0.1),
    default="60s",
    show_default=True,
    help="Whatever lies there now shall have begun within so long.",
)
@click.option("--min", "minimum", type=click.IntRange(0), default=0, show_default=True, help="Never fewer workers.")
@click.option("--max", "maximum", type=click.IntRange(1), help="Never more workers.")
@click.option(
    "--slots", type=click.IntRange(1), help="Messages that a worker runs at once. Default: as the workers do."
)
@click.option(
    "--cooldown",
    "cooldown_seconds",
    type=DURATION,
    default="5m",
    show_default=True,
    help="None fewer for so long after the newest worker started.",
)
@click.option("--since", type=Duration(1.0), default="24h", show_default=True, help="By the runs of so long.")
@json_option
def scaling(
    target: str | None, queue: str | None, slots: int | None, since: float, *, as_json: bool, **wanted: Any
) -> None:
    """Show how many workers each queue needs, and why.

    With an app, its own queues are shown; with a URL, all that there are. Before a run was measured, the profiles of
    the tasks say how long it takes.

    What waits, what is due soon and what runs all count; never fewer are advised than what runs keeps busy. "ready
    only" is what looking at the waiting ones alone would say, as many autoscalers do: in red where it would stop
    workers that run something. A dash means that it cannot be known.
    """
    rules = ScalingRules(**wanted)
    app = find(target)

    rows = run(app, lambda app: needs(app, rules, queue=queue, slots=slots, since_seconds=since))
    if as_json:
        say_json({"target_age_seconds": rules.target_age_seconds, "queues": rows})
        return
    out = console()
    if not rows:
        out.print("No queue holds a message, and no worker serves one.")
        return
    tell(out, rows)


async def needs(
    app: Tenure, rules: ScalingRules, *, queue: str | None, slots: int | None, since_seconds: float
) -> list[Needed]:
    """What each queue needs; with `slots` None, each worker counts for as many as the workers of that queue have."""
    pace = (await survey(app.state, since=app.clock.wall() - since_seconds, sees=app.sees)).pace
    alive = [owner for owner in await living(app.operate.access) if any(map(app.sees, owner.queues))]
    found = []
    for depth in await _depths(app, queue, alive):
        own = msgspec.structs.replace(rules, slots=slots or _slots(depth.queue, alive, app))
        known = pace.get(depth.queue) or await expected_pace(app, depth.queue)
        found.append(await _needed(app, depth, known, alive, own))
    return found


async def _depths(app: Tenure, queue: str | None, alive: Sequence[Owner]) -> list[Depth]:
    """Of the queue that was asked for; of the queues of the app's tasks; without tasks, of all there are."""
    if queue is not None:
        await check_known(app.operate.access, [full_name(app.operate.access, queue)])
        return await app.broker.depth([full_name(app.operate.access, queue)])
    if app.tasks:
        return await app.broker.depth(sorted({task.queue for task in app.tasks.values()}))
    depths = {depth.queue: depth for depth in await app.broker.depth() if app.sees(depth.queue)}
    served = {name for owner in alive for name in owner.queues if app.sees(name) and not is_pattern(name)}
    empty = sorted(served - depths.keys())
    depths |= {depth.queue: depth for depth in await app.broker.depth(empty)} if empty else {}
    return [depths[name] for name in sorted(depths)]


def _slots(queue: str, alive: Sequence[Owner], app: Tenure) -> int:
    """As the workers of this queue do; the fewest, so that none is promised more than it has.

    Never more than a worker runs of the tasks of this queue (`concurrency=`).
    """
    found = [owner.concurrency for owner in alive if matches(queue, owner.queues) and owner.concurrency > 0]
    limits = [task.policy.concurrency for task in app.tasks.values() if task.queue == queue]
    most = sum(limit for limit in limits if limit is not None) if limits and None not in limits else math.inf
    return int(min([*found, most] if found else [app.settings.concurrency, most]))


async def _needed(app: Tenure, depth: Depth, pace: Pace | None, alive: Sequence[Owner], rules: ScalingRules) -> Needed:
    due = await _due(app, depth, rules.target_age_seconds)
    backlog = Backlog(ready=depth.ready, leased=depth.leased, due=due)
    serving = [owner for owner in alive if matches(depth.queue, owner.queues)]
    added = app.clock.wall() - max((owner.started_at for owner in serving), default=0.0)
    both = compare(backlog, pace, rules, current=len(serving), since_added_seconds=added)
    return Needed(
        queue=depth.queue, ready=depth.ready, leased=depth.leased, due=due, estimated=depth.estimated,
        mean_seconds=None if pace is None else round(pace.mean_seconds, 6),
        q99_seconds=None if pace is None else round(pace.tail_seconds, 6),
        runs=0 if pace is None else pace.runs, profile=_profile(pace), workers_now=len(serving), slots=rules.slots,
        desired=both.desired.workers, why=both.desired.why,
        visible_only=both.visible_only.workers, interrupted=both.interrupted,
    )  # fmt: skip


def _profile(pace: Pace | None) -> str | None:
    return None if pace is None or not pace.source else pace.source.removeprefix("profile ")


async def _due(app: Tenure, depth: Depth, within: float) -> int | None:
    """How many of the delayed ones are due by then. None: the broker shows none of them, or there are too many."""
    if depth.delayed == 0:
        return 0
    if MessageState.DELAYED not in app.broker.traits.browsable or (depth.delayed or 0) > _MOST_DELAYED:
        return None
    query = Query(states=(MessageState.DELAYED,), queues=(depth.queue,), bodies=False, limit=_PAGE)
    due, looked = 0, 0
    async for page in pages(app.broker, query):
        soon = [one.due_in is not None and one.due_in <= within for one in page.messages]
        due, looked = due + sum(soon), looked + len(soon)
        if not all(soon):  # they come in the order of their due time
            return due
        if looked > _MOST_DELAYED:
            return None
    return due


# -- for people ------------------------------------------------------------------------------------


def tell(out: "Console", rows: Sequence[Needed]) -> None:
    """The table, and below it why."""
    out.print(table(rows, out.width))
    for row in rows:
        out.print(f"{row.queue}: {row.why}.", markup=False, style="dim", soft_wrap=not out.is_terminal)
        if row.interrupted:
            out.print(
                f"{row.queue}: by the ready ones alone it would be {row.visible_only}, "
                f"and {row.interrupted:,} running would be stopped.",
                markup=False, style="red", soft_wrap=not out.is_terminal,
            )  # fmt: skip


def table(rows: Sequence[Needed], width: int) -> "RenderableType":
    """One row a queue; where the terminal is narrow, on two lines."""
    from rich.text import Text

    from tenure.cli.screen import stacked

    figures = (*_FIGURES, "ready only") if width >= _WIDE else _NARROW
    shown = plain_table("queue", *figures, right=figures)
    for row in rows:
        about = row.estimated
        ready, leased = count(row.ready, estimated=about), count(row.leased, estimated=about)
        due, mean, q99 = count(row.due), exact(row.mean_seconds), exact(row.q99_seconds)
        now, advised = count(row.workers_now), Text(count(row.desired), style="bold")
        only = Text(count(row.visible_only), style="red" if row.interrupted else "")
        if width >= _WIDE:
            shown.add_row(row.queue, ready, leased, due, mean, q99, now, advised, only)
        else:
            pair = Text.assemble(advised, "\n", only)
            shown.add_row(row.queue, stacked(ready, leased), stacked(due, now), stacked(mean, q99), pair)
    keep_figures(shown, width)
    return shown
