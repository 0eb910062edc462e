"""`tenure scaling`: how many workers each queue needs, and why; watched, and published for systems that scale."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from tenure.app import Tenure
from tenure.cli import logs
from tenure.cli.commands.scaling.drawing import live, tell
from tenure.cli.commands.scaling.publishing import policies_of
from tenure.cli.commands.scaling.publishing import publish as publish_figures
from tenure.cli.completing import complete_queue
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import DURATION, Duration, watch_seconds
from tenure.cli.terminal.output import console, plural, say_json
from tenure.client.operations.scaling import ScalingNeed, ScalingReport
from tenure.errors import BrokerError, LoginRefused, PermissionMissing
from tenure.monitoring.cloudwatch.signal import NAMESPACE
from tenure.monitoring.figure import FigurePublisher
from tenure.rules.queue_pattern import is_pattern

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

logger = logging.getLogger("tenure.scaling")

#: Of this app; and whether a queue that nothing knows is a mistake.
Look = Callable[[Tenure, bool], Awaitable[ScalingReport]]

_EVERY_SECONDS = 5.0
#: CloudWatch keeps one value a minute at the usual price.
_PUBLISH_SECONDS = 60.0


@click.command(short_help="Show how many workers each queue needs, and why.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option(
    "--target-age",
    "target_age_seconds",
    type=Duration(0.1),
    default="60s",
    show_default=True,
    help="Target: everything that waits now has begun within this time.",
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
    help="No scale-down for this long after the newest worker started.",
)
@click.option("--since", type=Duration(1.0), default="24h", show_default=True, help="How far back to look at runs.")
@click.option("--watch", "-w", is_flag=True, help="Repeat until Ctrl-C; with --json, one document a line.")
@click.option("--every", type=Duration(0.1), help="How often --watch refreshes. Default: 5s; 60s with --publish.")
@click.option(
    "--publish",
    metavar="URL",
    help="Send the figures of each queue there, as cloudwatch://eu-west-1; once, or with --watch again and again.",
)
@click.option(
    "--policy",
    "service",
    metavar="CLUSTER/SERVICE",
    help="Print the scaling policies of an ECS service, as JSON. Needs --queue.",
)
@json_option
def scaling(  # noqa: PLR0913 - one for each option
    target: str | None,
    queue: str | None,
    slots: int | None,
    since: float,
    *,
    watch: bool,
    every: float | None,
    publish: str | None,
    service: str | None,
    as_json: bool,
    **rules: Any,
) -> None:
    """Show how many workers each queue needs, and why.

    With an app, its own queues are shown; with a URL, all that there are. Before a run was measured, the profiles of
    the tasks say how long it takes.

    What waits, what is due soon and what runs all count; never fewer are advised than what runs keeps busy. "ready
    only" is what looking at the waiting ones alone would say, as many autoscalers do: in red where it would stop
    workers that run something. A dash means that it cannot be known.

    --publish sends what each queue holds, running messages included, and the backlog of one worker, and logs it
    instead of showing a table. What is not known is not sent, so that an autoscaler keeps what there is. With --watch
    a sending that fails is logged, and the next one is tried.

    --policy prints what `aws application-autoscaling` and `aws cloudwatch` take with --cli-input-json: target tracking
    of the published backlog of one worker, its target from the pace of the queue. With --min 0 it adds the alarm and
    the step that begin the first worker, which target tracking cannot.
    """
    if service is not None and (queue is None or is_pattern(queue)):
        raise click.UsageError("--policy is for one queue: add --queue NAME")
    seconds = watch_seconds(every, _EVERY_SECONDS if publish is None else _PUBLISH_SECONDS, watch=watch)
    app = find(target)
    publisher = None if publish is None else _publisher(publish)

    async def look(app: Tenure, must_exist: bool) -> ScalingReport:  # noqa: FBT001 - see `Look`
        return await app.operate.scaling(queue=queue, slots=slots, since_seconds=since, must_exist=must_exist, **rules)

    if service is not None:
        found = run(app, lambda app: look(app, False))  # noqa: FBT003 - see `Look`
        say_json(policies_of(
            found, service, minimum=rules["minimum"], maximum=rules["maximum"],
            cooldown_seconds=rules["cooldown_seconds"], namespace=_namespace(publish),
        ))  # fmt: skip
        return
    with contextlib.suppress(KeyboardInterrupt) if watch else contextlib.nullcontext():  # the way to end it
        run(app, lambda app: _show(app, look, publisher, seconds, watch=watch, as_json=as_json))


def _publisher(url: str) -> FigurePublisher:
    from tenure.assembly import figure_publisher

    return figure_publisher(url)


def _namespace(publish: str | None) -> str:
    """The namespace of the policies: that of the URL to publish to, if there is one."""
    path = unquote(urlsplit(publish or "").path).strip("/")
    return path or NAMESPACE


async def _show(
    app: Tenure, look: Look, publisher: FigurePublisher | None, every: float, *, watch: bool, as_json: bool
) -> None:
    out = console()
    async with contextlib.AsyncExitStack() as stack:
        if publisher is not None:
            await publisher.open()
            stack.push_async_callback(publisher.close)
        is_live = watch and out.is_terminal and not as_json and publisher is None
        screen = stack.enter_context(_screen(out)) if is_live else None
        if screen is None and (watch or publisher is not None):
            logs.install("text", verbose=False)
        is_first = True
        shown: tuple[ScalingNeed, ...] = ()
        while True:
            try:
                # At first a typo is told. Later a queue that was empty for days may be forgotten, and comes again.
                found = await look(app, is_first)
                if screen is not None:
                    shown = found.queues
                    screen.update(live(shown, out.width), refresh=True)
                else:
                    await _tell(app, out, found, publisher, as_json=as_json)
            except (BrokerError, LoginRefused, PermissionMissing) as error:
                # What was wrong from the beginning is a mistake. Later it may pass, and autoscalers keep what there is.
                if is_first or not watch:
                    raise
                if screen is not None:  # what it shows is old
                    screen.update(live(shown, out.width, trouble=str(error)), refresh=True)
                logger.warning("no figures this time: %s", error)
            if not watch:
                return
            is_first = False
            await asyncio.sleep(every)


async def _tell(
    app: Tenure, out: "Console", found: ScalingReport, publisher: FigurePublisher | None, *, as_json: bool
) -> None:
    """Print the figures, or publish them; as JSON both."""
    if as_json:
        say_json(found)
    elif publisher is None:
        tell(out, found.queues)
    if publisher is not None:
        sent = await publish_figures(app, publisher, found)
        logger.info("sent %s to %s", plural(sent, "figure"), publisher.place)


def _screen(out: "Console") -> "Live":
    from rich.live import Live

    return Live("", console=out, auto_refresh=False)
