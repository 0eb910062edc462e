"""`tenure worker jobs:app`: run messages until told to stop.

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
from tenure.cli.child_words import child_words, own_words
from tenure.cli.completing import complete_queue
from tenure.cli.duration import DURATION, stated
from tenure.cli.emptying import until_empty as work_until_empty
from tenure.cli.failing import BadTarget
from tenure.cli.output import plural, say_json
from tenure.cli.tally import Tally
from tenure.cli.target import find, json_option, or_default, target_argument
from tenure.client.operations.naming import near, short_name
from tenure.clock import Clock
from tenure.config import settings_from
from tenure.deletion import DeletionTally
from tenure.rules.queue_pattern import matches

if TYPE_CHECKING:
    from tenure.runtime.tether import Tether
    from tenure.runtime.worker import Worker

logger = logging.getLogger("tenure.cli")

_SUMMARY_SECONDS = 60.0
#: Some supervisors signal a process and then its group: two signals at once are one.
_SAME_SIGNAL_SECONDS = 0.1


@click.command(short_help="Run messages of an app's tasks until told to stop.")
@target_argument
@click.option("--concurrency", "-c", type=click.IntRange(1, 10_000), help="How many messages at once. Default: 10.")
@click.option("--processes", "-p", type=click.IntRange(1, 1_000), help="Run so many processes, and replace the dead.")
@click.option("--queue", "-q", "queues", multiple=True, shell_complete=complete_queue,
              help="Serve this queue only: a name, or a pattern such as '*-tasks'; repeat it for more.")  # fmt: skip
@click.option("--name", default="", help="The worker's name, the same over restarts. Default: host and pid.")
@click.option("--slot", help="An identity that a manager gives to one process at a time. Default: none.")
@click.option("--grace", type=DURATION, help="How long handlers may go on after SIGTERM. Default: 30s.")
@click.option(
    "--wait-for-broker", type=DURATION, help="How long to wait if the broker is away at the start. Default: 30s."
)
@click.option("--until-empty", is_flag=True, help="Stop when nothing is left to do, instead of waiting for more.")
@click.option(
    "--heartbeat",
    type=click.Choice(["worker", "supervisor"]),
    default="worker",
    help="Who renews leases: the worker itself, or the parent of --processes, also while a handler holds the GIL.",
)
@click.option("--reload", "reloads", is_flag=True, help="For development: start anew when a Python file here changes.")
@click.option("--supervised", hidden=True, help="Set by a supervisor for its children.")
@click.option("--log", "style", type=click.Choice(["text", "json"]), help="How to log. Default: text.")
@click.option("--verbose", "-v", is_flag=True, help="Log each message too, with how long it ran and waited.")
@json_option
def worker(  # noqa: PLR0913 - one for each option
    target: str | None, concurrency: int | None, queues: tuple[str, ...], name: str, slot: str | None,
    grace: float | None, style: str | None, *, wait_for_broker: float | None, processes: int | None, heartbeat: str,
    supervised: str | None, reloads: bool, until_empty: bool, verbose: bool, as_json: bool,
) -> int | None:  # fmt: skip
    """Run messages of an app's tasks until told to stop.

    TARGET is module:attribute, as in jobs:app, found from the current folder. SIGTERM or Ctrl-C stops leasing
    and lets handlers finish within the grace; what is left is given back. A second one gives everything back
    at once. Nothing is lost either way. With --json, logs are JSON and what was done is printed at the end.

    --processes starts so many workers, each with --concurrency slots of its own. One that dies is replaced, and
    what it ran is back in its queue at once.

    --queue may be a pattern: '*-tasks' serves every queue whose name ends so, also one that comes into being later.
    Put it in quotes, so that the shell leaves it alone.

    --slot names what a manager runs one process of at a time, such as a pod's UID and container name, or a systemd
    unit. When a new worker joins in the same slot the old one counts as dead, and what it held is returned at once.
    Never give one slot to two workers that run at the same time.

    --wait-for-broker 0 ends the worker at once if the broker is away at the start. A wrong password always ends it.

    --reload is for development. It watches the Python files of the current folder. After a change the worker stops as
    on SIGTERM and starts anew. In production restart workers when you deploy.

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
    words = child_words(
        target, concurrency, queues, grace, style,
        wait_for_broker=wait_for_broker, until_empty=until_empty, verbose=verbose,
    )  # fmt: skip
    if reloads:
        from tenure.cli.reloading import reload

        logs.install(style, verbose=verbose)
        return reload([*words, *own_words(name, slot, processes, heartbeat, as_json=as_json)], Path.cwd())
    if processes is not None:
        from tenure.cli.supervising import supervise

        logs.install(style, verbose=verbose)
        return supervise(
            words, processes=processes, name=name, slot=settings_from().slot if slot is None else slot,
            keeps_leases=heartbeat == "supervisor", until_empty=until_empty, as_json=as_json,
        )  # fmt: skip
    if heartbeat == "supervisor":
        msg = "--heartbeat supervisor needs a supervisor: add --processes 1, or more"
        raise click.UsageError(msg)
    tether = _tether(supervised)
    logs.install(style, verbose=verbose, process=tether.number if tether is not None else None)
    app = find(target)
    own = [short_name(app.operate.access, queue) for queue in queues]
    _warn_of_strange_queues(app, own)
    tally = Tally()
    made = app.worker(
        concurrency=concurrency, queues=own, name=name, slot=slot, grace=grace, reference=target, sinks=[tally]
    )
    made.tether = tether
    grace = app.settings.grace_seconds if grace is None else grace
    stop = _Stop(made, grace, app.clock)
    asyncio.run(_run(app, made, stop, tally, wait_for_broker, until_empty=until_empty, as_json=as_json))
    return None


def _tether(supervised: str | None) -> "Tether | None":
    """What ties us to our supervisor, if we have one."""
    if supervised is None:
        return None
    from tenure.runtime.tether import Tether

    return Tether.from_word(supervised)


def _end(worker: "Worker", tally: Tally, *, was_started: bool, as_json: bool) -> None:
    """Say what was done. Handlers that do not end would keep the loop and the process: then it ends here and now."""
    if worker.tether is not None:
        from tenure.runtime.orders import Farewell

        worker.tether.tell(Farewell(dict(worker.counts), tally.given_back))
        worker.tether.close()
    elif as_json:
        deletions = worker.deletions.as_dict() if was_started else DeletionTally(0).stats().as_dict()
        counts = dict(worker.counts)
        say_json({"owner": worker.owner_id, "counts": counts, "given_back": tally.given_back, "deletions": deletions})
    if worker.has_stuck_handlers:
        logger.warning("a handler still runs although its message was given back; ending the process")
        sys.stdout.flush()
        logging.shutdown()
        os._exit(0)


async def _run(
    app: Tenure, worker: "Worker", stop: "_Stop", tally: Tally, wait_for_broker: float | None, *,
    until_empty: bool, as_json: bool,
) -> None:  # fmt: skip
    stop.listen()
    if worker.tether is not None:
        await worker.tether.listen(app.url, stop.hurry)
    if await _open(app, worker, wait_for_broker):
        await _work(app, worker, stop, tally, until_empty=until_empty)
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


async def _work(app: Tenure, worker: "Worker", stop: "_Stop", tally: Tally, *, until_empty: bool) -> None:
    async with app:
        await worker.start()
        stop.started = True
        if worker.tether is not None:
            worker.tether.working()
        logger.info(
            "%s runs %s of %s with %s on %s",
            worker.owner_id,
            plural(len(app.tasks), "task"),
            ", ".join(worker.owner.queues),
            plural(worker.owner.concurrency, "slot"),
            full_url(app.url),
        )
        # Also when a part of it died: a worker that cannot work must not look alive.
        summing_up = asyncio.create_task(_sum_up(worker, tally))
        try:
            await (work_until_empty(app, worker) if until_empty else worker.asked_to_stop())
        finally:
            summing_up.cancel()
            await worker.stop()
        logger.info("%s did: %s", worker.owner_id, tally)


async def _sum_up(worker: "Worker", tally: Tally) -> None:
    """A line a minute in which something was done; with `--verbose` each message has its own."""
    while not logging.getLogger("tenure.worker").isEnabledFor(logging.DEBUG):
        await asyncio.sleep(_SUMMARY_SECONDS)
        if done := tally.since_last():
            logger.info("the last minute: %s; %s in flight", done, worker.in_flight)


class _Stop:
    """What the signals do."""

    def __init__(self, worker: "Worker", grace_seconds: float, clock: Clock) -> None:
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
        """All is done: a signal that comes while the process ends must not make it look killed."""
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
        if self._worker.tether is not None:
            # The supervisor passes signals on, and says itself when to hurry: whoever signals the whole group, as
            # systemd does, asked once.
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
                "stopping: %d in flight, up to %s; again to give them back now", in_flight, stated(self._grace_seconds)
            )
        else:
            logger.info("stopping now: what is in flight is given back")
        self._worker.ask_to_stop()
        self._asked = True


def _warn_of_strange_queues(app: Tenure, queues: Sequence[str]) -> None:
    known = {short_name(app.operate.access, task.queue) for task in app.tasks.values()}
    for queue in queues:
        if not any(matches(name, [queue]) for name in known):
            hint = near(queue, known) or f"; there are: {', '.join(sorted(known))}"
            logger.warning("no task of this app sends to queue %r%s", queue, hint)
