"""`tenure health`: one line and an exit code, for the probes of a container manager.

Healthy means: the store answers, each of the queues has a worker that is alive, and somebody sweeps. Who is alive is
judged as every worker judges it (`rules/presence.py`); one that was not heard for a while does not count.
"""

import asyncio
import os
from collections.abc import Sequence

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.duration import DURATION, spoken
from tenure.cli.failing import DONE, TROUBLE
from tenure.cli.naming import full_name
from tenure.cli.output import plural, say_json, say_line
from tenure.cli.presence import judged
from tenure.cli.target import find, json_option, opened, target_argument
from tenure.errors import BrokerError, StoreUnwritable
from tenure.owner import Member
from tenure.probe import SYSTEM_PROBE
from tenure.rules.queue_pattern import matches
from tenure.runtime.sweeper import TURN

#: A worker that was not heard for so long does not count: the rarest beat, in the cloud, is every 5 seconds.
_SILENT_SECONDS = 15.0
#: The longest sweep interval that can be set. A turn that is asked for so long is held by no other worker's account, so
#: that a probe that dies in the middle keeps nobody from sweeping (`Board.take_turn`).
_LONGEST_INTERVAL_SECONDS = 3600.0
#: After so many intervals without a sweep it is late.
_LATE_INTERVALS = 2.0
_LOOKS_AN_INTERVAL = 8


class Health(msgspec.Struct, frozen=True):
    """What was found, as `--json` prints it."""

    healthy: bool
    #: What is wrong, a clause each.
    problems: tuple[str, ...]
    #: Whether the store answered.
    store: bool
    #: How many workers are alive. None: not known.
    workers: int | None = None
    #: How many of them serve each queue.
    queues: dict[str, int] = {}
    #: Whether somebody sweeps. None: not known.
    sweep: bool | None = None


@click.command(short_help="Check for a probe: the store answers, workers are alive.")
@target_argument
@click.option("--queue", "-q", "queues", multiple=True, help="Check this queue only; repeat it for more.")
@click.option("--here", is_flag=True, help="Count only workers of this container or machine.")
@click.option("--timeout", type=DURATION, default="10s", help="Unhealthy if there is no answer by then. Default: 10s.")
@json_option
def health(target: str | None, queues: tuple[str, ...], timeout: float, *, here: bool, as_json: bool) -> int:
    """Check that the store answers, that workers are alive, and that overdue leases are swept.

    Prints one line, and exits with 0 (healthy) or 1 (unhealthy): for Docker's HEALTHCHECK and the exec probes of
    Kubernetes. With an app as TARGET each queue of its tasks must have a worker, with a URL there must be one at all;
    --queue names queues instead. The sweep is late if no worker has swept for two intervals.

    \b
    tenure health jobs:app --here
    tenure health redis://host:6379/0 --queue mail --json
    """  # noqa: D301 - click's mark for lines that stay as they are
    app = find(target)
    names = [full_name(app, queue) for queue in queues] or sorted({task.queue for task in app.tasks.values()})
    found = _examined(app, names, timeout, here=here)
    if as_json:
        say_json(found)
    else:
        say_line(_line(found))
    return DONE if found.healthy else TROUBLE


def _examined(app: Tenure, queues: Sequence[str], timeout: float, *, here: bool) -> Health:
    async def look(app: Tenure) -> Health:
        return await examine(app, queues, here=here)

    async def bounded() -> Health:
        async with asyncio.timeout(timeout):
            return await opened(app, look)

    try:
        return asyncio.run(bounded())
    except TimeoutError:
        return _no_store(f"no answer within {spoken(timeout)}")
    except BrokerError as error:
        return _no_store(str(error))


def _no_store(problem: str) -> Health:
    return Health(healthy=False, problems=(problem,), store=False)


async def examine(app: Tenure, queues: Sequence[str], *, here: bool) -> Health:
    """Look at an open app's place. Without `queues`, one worker of any queue is enough."""
    alive = [member for member in (await judged(app)).living if _counts(app, member, here=here)]
    served = {queue: sum(matches(queue, member.owner.queues) for member in alive) for queue in queues}
    problems = [f"no worker serves queue {queue}" for queue, workers in served.items() if not workers]
    if not alive and not queues:
        problems.append("no worker is alive")
    sweep = None if problems else await is_swept(app)
    if sweep is False:
        problems.append(f"nobody has swept for {spoken(_LATE_INTERVALS * app.settings.sweep_interval_seconds)}")
    return Health(not problems, tuple(problems), store=True, workers=len(alive), queues=served, sweep=sweep)


def _counts(app: Tenure, member: Member, *, here: bool) -> bool:
    owner, me = member.owner, SYSTEM_PROBE.me()
    is_here = (owner.boot_id, owner.pid_namespace) == (me.boot_id, me.pid_namespace)
    return member.silent_seconds < _SILENT_SECONDS and any(map(app.sees, owner.queues)) and (is_here or not here)


async def is_swept(app: Tenure) -> bool | None:
    """Whether somebody has the turn to sweep, or takes it within two intervals. None: this user may not ask."""
    board, token = app.state.board, f"health-{os.urandom(8).hex()}"
    interval = app.settings.sweep_interval_seconds
    until = app.clock.monotonic() + _LATE_INTERVALS * interval
    while True:
        try:
            if not await board.take_turn(TURN, token, _LONGEST_INTERVAL_SECONDS):
                return True
            await board.take_turn(TURN, token, 0.0)
        except StoreUnwritable:
            return None
        if app.clock.monotonic() >= until:
            return False
        await asyncio.sleep(interval / _LOOKS_AN_INTERVAL)


def _line(found: Health) -> str:
    if not found.healthy:
        return f"unhealthy: {'; '.join(found.problems)}"
    served = ", ".join(f"{queue}: {plural(number, 'worker')}" for queue, number in found.queues.items())
    sweep = "the sweep is on time" if found.sweep else "the sweep cannot be checked by this user"
    return f"healthy: {served or plural(found.workers or 0, 'worker')}; {sweep}"
