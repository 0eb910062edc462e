"""`tenure worker jobs:app`: run messages until told to stop.

The first SIGTERM or SIGINT lets handlers finish within the grace, the second gives their messages back now.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.cli import logs
from tenure.cli.duration import DURATION, stated
from tenure.cli.emptying import until_empty as work_until_empty
from tenure.cli.failing import BadTarget
from tenure.cli.naming import near, short_name
from tenure.cli.output import plural, safe_url, say_json
from tenure.cli.tally import Tally
from tenure.cli.target import find, json_option, or_default, target_argument
from tenure.clock import Clock

if TYPE_CHECKING:
    from tenure.runtime.worker import Worker

logger = logging.getLogger("tenure.cli")

#: Some supervisors signal a process and then its group: two signals at once are one.
_SAME_SIGNAL_SECONDS = 0.1


@click.command(short_help="Run messages of an app's tasks until told to stop.")
@target_argument
@click.option("--concurrency", "-c", type=click.IntRange(1, 10_000), help="How many messages at once. Default: 10.")
@click.option("--queue", "-q", "queues", multiple=True, help="Serve this queue only; repeat it for more.")
@click.option("--name", default="", help="The worker's name, the same over restarts. Default: host and pid.")
@click.option("--grace", type=DURATION, help="How long handlers may go on after SIGTERM. Default: 30s.")
@click.option("--until-empty", is_flag=True, help="Stop when nothing is left to do, instead of waiting for more.")
@click.option("--log", "style", type=click.Choice(["text", "json"]), help="How to log. Default: text.")
@click.option("--verbose", "-v", is_flag=True, help="Log each message too.")
@json_option
def worker(
    target: str | None, concurrency: int | None, queues: tuple[str, ...], name: str, grace: float | None,
    style: str | None, *, until_empty: bool, verbose: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run messages of an app's tasks until told to stop.

    TARGET is module:attribute, as in jobs:app, found from the current folder. SIGTERM or Ctrl-C stops leasing
    and lets handlers finish within the grace; what is left is given back. A second one gives everything back
    at once. Nothing is lost either way. With --json, logs are JSON and what was done is printed at the end.

    --until-empty stops when nothing of its queues is ready, runs anywhere, or was tried and comes again. It does not
    wait for what its sender delayed, for future ticks of schedules, for queues that are paused, or for tasks that
    the app does not have.
    """
    target = or_default(target)
    if not target or "://" in target:
        msg = "a worker needs the tasks' code: name the app as module:attribute, as in jobs:app, not a URL"
        raise BadTarget(msg)
    logs.install(style or ("json" if as_json else "text"), verbose=verbose)
    app = find(target)
    own = [short_name(app, queue) for queue in queues]
    _warn_of_strange_queues(app, own)
    tally = Tally()
    made = app.worker(concurrency=concurrency, queues=own, name=name, grace=grace, reference=target, sinks=[tally])
    grace = app.settings.grace_seconds if grace is None else grace
    stop = _Stop(made, grace, app.clock)
    asyncio.run(_work(app, made, stop, tally, until_empty=until_empty, as_json=as_json))


def _end(worker: "Worker", tally: Tally, *, as_json: bool) -> None:
    """Say what was done. Handlers that do not end would keep the loop and the process: then it ends here and now."""
    if as_json:
        say_json({"owner": worker.owner_id, "counts": dict(worker.counts), "given_back": tally.given_back})
    if worker.has_stuck_handlers:
        logger.warning("a handler still runs although its message was given back; ending the process")
        sys.stdout.flush()
        logging.shutdown()
        os._exit(0)


async def _work(
    app: Tenure, worker: "Worker", stop: "_Stop", tally: Tally, *, until_empty: bool, as_json: bool
) -> None:
    stop.listen()
    async with app:
        await worker.start()
        stop.started = True
        logger.info(
            "%s runs %s of %s with %s on %s",
            worker.owner_id,
            plural(len(app.tasks), "task"),
            ", ".join(worker.owner.queues),
            plural(worker.owner.concurrency, "slot"),
            safe_url(app.url),
        )
        # Also when a part of it died: a worker that cannot work must not look alive.
        try:
            await (work_until_empty(app, worker) if until_empty else worker.asked_to_stop())
        finally:
            await worker.stop()
        logger.info("%s did: %s", worker.owner_id, tally)
    stop.ignore()
    _end(worker, tally, as_json=as_json)


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

    def _on_signal(self) -> None:
        now = self._clock.monotonic()
        if now - self._last_signal < _SAME_SIGNAL_SECONDS:
            return
        self._last_signal = now
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
    known = {short_name(app, task.queue) for task in app.tasks.values()}
    for queue in queues:
        if queue not in known:
            hint = near(queue, known) or f"; there are: {', '.join(sorted(known))}"
            logger.warning("no task of this app sends to queue %r%s", queue, hint)
