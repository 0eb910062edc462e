"""`tenure worker jobs:app`: run messages until stopped.

The first SIGTERM or SIGINT lets handlers finish within the grace, the second gives their messages back now.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.assembly import full_url
from tenure.cli import logs
from tenure.cli.commands.worker.child_arguments import child_words, own_words
from tenure.cli.commands.worker.outside import Outside, check_target, exporting, platforms_of, watching
from tenure.cli.commands.worker.summary import Summary
from tenure.cli.commands.worker.until_empty import until_empty as work_until_empty
from tenure.cli.completing import queues_option
from tenure.cli.failing import BadTarget
from tenure.cli.service_manager import ServiceManager
from tenure.cli.target import find, json_option, or_default, target_argument
from tenure.cli.terminal.duration import DURATION, stated
from tenure.cli.terminal.output import plural, say_json
from tenure.client.operations.naming import near, short_name
from tenure.clock import Clock
from tenure.config import EVENT_NAMES, settings_from
from tenure.deletion import DeletionTally
from tenure.errors import BadArgument
from tenure.rules.client_queue import queues_of_clients
from tenure.rules.queue_pattern import matches

if TYPE_CHECKING:
    from tenure.runtime.supervisor.supervisor_link import SupervisorLink
    from tenure.runtime.worker import Worker
    from tenure.sink import Sink

logger = logging.getLogger("tenure.cli")

_SUMMARY_SECONDS = 60.0
#: Some supervisors signal a process and then its group: two signals at once are one.
_SAME_SIGNAL_SECONDS = 0.1


@click.command(short_help="Run messages of an app's tasks until stopped.")
@target_argument
@click.option("--concurrency", "-c", type=click.IntRange(1, 10_000), help="How many messages at once. Default: 10.")
@click.option(
    "--processes", "-p", type=click.IntRange(1, 1_000), help="Run this many processes, and replace dead ones."
)
@queues_option("Serve this queue only")
@click.option(
    "--clients", metavar="NAMES", help="Serve the queues of these clients: a,b or 'a*', or all. Fair among them."
)
@click.option("--name", default="", help="The worker's name, the same over restarts. Default: host and pid.")
@click.option("--slot", help="An identity that a process manager gives to one process at a time. Default: none.")
@click.option("--grace", type=DURATION, help="How long handlers may go on after SIGTERM. Default: 30s.")
@click.option("--wait-for-broker", type=DURATION, help="How long to wait for the broker at the start. Default: 30s.")
@click.option("--until-empty", is_flag=True, help="Stop when nothing is left to do, instead of waiting for more.")
@click.option(
    "--heartbeat",
    type=click.Choice(["worker", "supervisor"]),
    default="worker",
    help="Who renews leases: the worker itself, or the parent of --processes, also while a handler holds the GIL.",
)
@click.option(
    "--metrics", metavar="ADDRESS", help="Serve metrics for Prometheus here, as in 127.0.0.1:9100. Default: nowhere."
)
@click.option("--emf", metavar="TARGET", help="Write CloudWatch metrics: stdout, file:/path, tcp://host:port.")
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    metavar="NAME",
    help="Where it runs: ecs, kubernetes, ec2 or azure; repeat it for more. Default: nowhere in particular.",
)
@click.option("--reload", "reloads", is_flag=True, help="For development: restart when a Python file here changes.")
@click.option("--supervised", hidden=True, help="Set by a supervisor for its children.")
@click.option("--log", "style", type=click.Choice(["text", "json"]), help="How to log. Default: text.")
@click.option(
    "--log-events",
    "event_names",
    type=click.Choice(EVENT_NAMES),
    help="Log every event, under these names. Default: no.",
)
@click.option(
    "--detail", type=click.FloatRange(0, 1), help="The part of messages whose every step is an event. Default: 0."
)
@click.option("--verbose", "-v", is_flag=True, help="Log each message too, with how long it ran and waited.")
@json_option
def worker(  # noqa: PLR0913, PLR0915 - one for each option
    target: str | None,
    concurrency: int | None,
    queues: tuple[str, ...],
    clients: str | None,
    name: str,
    slot: str | None,
    grace: float | None,
    style: str | None,
    *,
    event_names: str | None,
    detail: float | None,
    wait_for_broker: float | None,
    processes: int | None,
    heartbeat: str,
    metrics: str | None,
    emf: str | None,
    platforms: tuple[str, ...],
    supervised: str | None,
    reloads: bool,
    until_empty: bool,
    verbose: bool,
    as_json: bool,
) -> int | None:
    """Run messages of an app's tasks until stopped.

    TARGET is module:attribute, as in jobs:app, found from the current folder. SIGTERM or Ctrl-C stops leasing
    and lets handlers finish within the grace; what is left is given back. A second one gives everything back
    at once. Nothing is lost either way. With --json, logs are JSON and what was done is printed at the end.

    --processes starts this many workers, each with --concurrency slots of its own. One that dies is replaced, and
    what it ran is back in its queue at once.

    --queue may be a pattern: '*-tasks' serves every queue whose name ends so, also one that comes into being later.
    Put it in quotes, so that the shell leaves it alone.

    --clients serves {client}-tasks of each client that is named, of those that match a pattern, or of all, as they
    come and go. Each gets the same part of the worker's time while it has something waiting, or as much as its
    weight says (TENURE_CLIENT_WEIGHTS). With --queue both are served.

    --slot names what a manager runs one process of at a time, such as a pod's UID and container name, or a systemd
    unit. When a new worker joins in the same slot the old one counts as dead, and what it held is returned at once.
    Never give one slot to two workers that run at the same time.

    --wait-for-broker 0 ends the worker at once if the broker is away at the start. A wrong password always ends it.

    --reload is for development. It watches the Python files of the current folder. After a change the worker stops as
    on SIGTERM and starts again. In production restart workers when you deploy.

    --metrics serves what this worker did as Prometheus reads it, with --processes all of them at one address. Other
    machines may read it only with the token of TENURE_METRICS_TOKEN.

    --emf writes the metrics once a minute as lines of CloudWatch's embedded metric format; with --processes, those of
    all of them.

    --platform tells the manager of the machine while messages are held, so that scaling in takes an idle worker: ecs
    protects the task, kubernetes writes the pod's deletion cost. And it drains the worker when the machine is about to
    be taken away: ec2 reads spot interruptions, azure scheduled events.

    --until-empty stops when nothing of its queues is ready, runs anywhere, or was tried and comes again. It does not
    wait for what its sender delayed, for future ticks of schedules, for queues that are paused, or for tasks that
    the app does not have.
    """
    target = or_default(target)
    if not target or "://" in target:
        msg = "a worker needs the tasks' code: name the app as module:attribute, as in jobs:app, not a URL"
        raise BadTarget(msg)
    style = style or ("json" if as_json else "text")
    if reloads and until_empty:
        raise click.UsageError("--reload runs until it is stopped; leave out --until-empty")
    try:
        of_clients = () if clients is None else queues_of_clients(clients)
    except BadArgument as error:
        raise click.BadParameter(str(error), param_hint="--clients") from error
    words = child_words(
        target,
        concurrency,
        queues,
        grace,
        style,
        clients=clients,
        wait_for_broker=wait_for_broker,
        until_empty=until_empty,
        verbose=verbose,
        event_names=event_names,
        detail=detail,
        platforms=platforms,
    )
    platforms = platforms or settings_from().platforms
    emf = settings_from().emf if emf is None else emf
    check_target(emf)
    if reloads:
        from tenure.cli.commands.worker.reload import reload

        logs.install(style, verbose=verbose)
        return reload([*words, *own_words(name, slot, processes, heartbeat, metrics, emf, as_json=as_json)], Path.cwd())
    if processes is not None:
        from tenure.cli.commands.worker.processes import supervise

        logs.install(style, verbose=verbose)
        return supervise(
            words,
            processes=processes,
            name=name,
            slot=settings_from().slot if slot is None else slot,
            keeps_leases=heartbeat == "supervisor",
            until_empty=until_empty,
            as_json=as_json,
            metrics=metrics,
            platforms=platforms,
            emf=emf,
        )
    if heartbeat == "supervisor":
        msg = "--heartbeat supervisor needs a supervisor: add --processes 1, or more"
        raise click.UsageError(msg)
    from tenure.runtime import event_loop
    from tenure.runtime.garbage import collect_rarely

    link = _supervisor_link(supervised)
    logs.install(style, verbose=verbose, process=link.number if link is not None else None)
    manager = ServiceManager.from_environment()
    where = platforms_of(platforms, of_supervisor=False, has_supervisor=link is not None)
    emf = emf if link is None else None  # the supervisor writes those of its children
    app = find(target)
    own = [short_name(app.operate.access, queue) for queue in queues]
    _warn_of_strange_queues(app, own)
    tally = Summary()
    made = app.worker(
        concurrency=concurrency,
        queues=(*own, *of_clients),
        name=name,
        slot=slot,
        grace=grace,
        reference=target,
        detail=detail,
        sinks=[tally, *_event_log(app, event_names)],
        metrics=metrics if link is None else "",  # the supervisor serves those of its children
    )
    made.supervisor_link = link
    grace = app.settings.grace_seconds if grace is None else grace
    stop = _Stop(made, grace, app.clock, manager)
    collect_rarely()
    event_loop.run(
        _run(
            app,
            made,
            stop,
            tally,
            wait_for_broker,
            manager,
            Outside(where, emf),
            until_empty=until_empty,
            as_json=as_json,
        ),
        app.settings.loop,
    )
    return None


def _event_log(app: Tenure, names: str | None) -> "Sequence[Sink]":
    """The sink that `--log-events` asks for, unless the settings ask for the same."""
    if names is None or names == app.settings.log_events:
        return ()
    from tenure.sinks.log_events import LogEvents, event_names

    return (LogEvents(event_names(names)),)


def _supervisor_link(supervised: str | None) -> "SupervisorLink | None":
    """Return the link to our supervisor, if we have one."""
    if supervised is None:
        return None
    from tenure.runtime.supervisor.supervisor_link import SupervisorLink

    return SupervisorLink.from_word(supervised)


def _end(worker: "Worker", tally: Summary, *, was_started: bool, as_json: bool) -> None:
    """Say what was done. Handlers that do not end would keep the loop and the process: then it ends here and now."""
    if worker.supervisor_link is not None:
        from tenure.runtime.supervisor.protocol import Farewell

        samples = tuple(worker.metrics()) if was_started else ()
        worker.supervisor_link.tell(Farewell(dict(worker.counts), tally.given_back, worker.leaving, samples))
        worker.supervisor_link.close()
    elif as_json:
        deletions = worker.deletions.as_dict() if was_started else DeletionTally(0).stats().as_dict()
        counts = dict(worker.counts)
        say_json({"owner": worker.owner_id, "counts": counts, "given_back": tally.given_back, "deletions": deletions})
    if worker.has_stuck_handlers:
        logger.warning("a handler still runs although its message was returned; ending the process")
        sys.stdout.flush()
        logging.shutdown()
        os._exit(0)


async def _run(  # noqa: PLR0913 - called in one place
    app: Tenure,
    worker: "Worker",
    stop: "_Stop",
    tally: Summary,
    wait_for_broker: float | None,
    manager: ServiceManager,
    outside: Outside,
    *,
    until_empty: bool,
    as_json: bool,
) -> None:
    stop.listen()
    if worker.supervisor_link is not None:
        await worker.supervisor_link.listen(app.url, stop.hurry)
    if await _open(app, worker, wait_for_broker):
        await _work(app, worker, stop, tally, manager, outside, until_empty=until_empty)
    stop.ignore()
    _end(worker, tally, was_started=stop.started, as_json=as_json)


async def _open(app: Tenure, worker: "Worker", wait_for_broker: float | None) -> bool:
    """Wait for the broker. False: the worker was asked to stop before it was there."""
    opening = asyncio.create_task(app.open(wait_for_broker=wait_for_broker))
    stopped = asyncio.create_task(worker.asked_to_stop())
    await asyncio.wait((opening, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not opening.done():
        opening.cancel()
        return False
    await opening
    return True


async def _work(
    app: Tenure,
    worker: "Worker",
    stop: "_Stop",
    tally: Summary,
    manager: ServiceManager,
    outside: Outside,
    *,
    until_empty: bool,
) -> None:
    async with app:
        await worker.start()
        stop.started = True
        if worker.supervisor_link is not None:
            worker.supervisor_link.working()
        tasks, slots = plural(len(app.tasks), "task"), plural(worker.owner.concurrency, "slot")
        runs = f"runs {tasks} of {', '.join(worker.owner.queues)} with {slots} on {full_url(app.url)}"
        logger.info("%s %s", worker.owner_id, runs)
        manager.ready(runs)
        if worker.metrics_url is not None:
            logger.info("metrics are at %s", worker.metrics_url)
        # Also when a part of it died: a worker that cannot work must not look alive.
        beside = [
            asyncio.create_task(_sum_up(worker, tally, manager)),
            asyncio.create_task(manager.watch(worker.moved)),
        ]
        # Until it has stopped: while it finishes what runs, the machine must stay.
        async with (
            watching(outside.platforms, lambda: worker.in_flight, worker, app.clock),
            exporting(outside.emf, worker),
        ):
            try:
                await (work_until_empty(app, worker) if until_empty else worker.asked_to_stop())
            finally:
                beside[0].cancel()
                await worker.stop()
                beside[1].cancel()
        logger.info("%s did: %s", worker.owner_id, tally)


async def _sum_up(worker: "Worker", tally: Summary, manager: ServiceManager) -> None:
    """A line a minute in which something was done; with `--verbose` each message has its own."""
    while not logging.getLogger("tenure.worker").isEnabledFor(logging.DEBUG):
        await asyncio.sleep(_SUMMARY_SECONDS)
        if done := tally.since_last():
            logger.info("the last minute: %s; %s in flight", done, worker.in_flight)
            manager.status(f"the last minute: {done}; {worker.in_flight} in flight")


class _Stop:
    """The stop that signals ask for."""

    def __init__(self, worker: "Worker", grace_seconds: float, clock: Clock, manager: ServiceManager) -> None:
        self._manager = manager
        self._clock = clock
        self._last_signal = -_SAME_SIGNAL_SECONDS
        self._asked = False
        self.started = False
        self._worker = worker
        self._grace_seconds = grace_seconds

    def listen(self) -> None:
        """Take over SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)

    def ignore(self) -> None:
        """Ignore signals once all is done: one that comes while the process ends must not make it look killed."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    def hurry(self) -> None:
        """The supervisor was asked a second time."""
        if not self._asked:
            self._ask()
        self._ask()

    def _on_signal(self) -> None:
        if self._worker.supervisor_link is not None:
            # The supervisor passes signals on, and says itself when to hurry: a signal to the whole group, as systemd
            # sends it, counts once.
            if not self._asked:
                self._ask()
            return
        now = self._clock.monotonic()
        if now - self._last_signal < _SAME_SIGNAL_SECONDS:
            return
        self._last_signal = now
        self._ask()

    def _ask(self) -> None:
        if not self._asked:
            in_flight = self._worker.in_flight if self.started else 0
            logger.info(
                "stopping: %d in flight, up to %s to finish; signal again to return them now",
                in_flight,
                stated(self._grace_seconds),
            )
            self._manager.stopping()
        else:
            logger.info("stopping now: returning what is in flight")
        self._worker.ask_to_stop()
        self._asked = True


def _warn_of_strange_queues(app: Tenure, queues: Sequence[str]) -> None:
    known = {short_name(app.operate.access, task.queue) for task in app.tasks.values()}
    for queue in queues:
        if not any(matches(name, [queue]) for name in known):
            hint = near(queue, known) or f"; there are: {', '.join(sorted(known))}"
            logger.warning("no task of this app sends to queue %r%s", queue, hint)
