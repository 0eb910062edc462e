"""`tenure health`: one line and an exit code, for the probes of a container manager.

Healthy means: the store answers, each of the queues has a live worker, and sweeps run. Who is alive is
judged as every worker judges it (`rules/presence.py`); one that was silent for a while does not count.
"""

import asyncio
from collections.abc import Sequence

import click

from tenure.app import Tenure
from tenure.cli.failing import DONE, TROUBLE
from tenure.cli.target import find, json_option, opened, target_argument
from tenure.cli.terminal.duration import DURATION, spoken
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.client.operations.health import Health
from tenure.errors import BrokerError


@click.command(short_help="Check for a probe: the store answers, workers are alive.")
@target_argument
@click.option("--queue", "-q", "queues", multiple=True, help="Check this queue only; repeat it for more.")
@click.option("--here", is_flag=True, help="Count only workers of this container or machine.")
@click.option("--timeout", type=DURATION, default="10s", help="How long to wait for an answer. Default: 10s.")
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
    found = _examined(app, queues, timeout, here=here)
    if as_json:
        say_json(found)
    else:
        say_line(_line(found))
    return DONE if found.healthy else TROUBLE


def _examined(app: Tenure, queues: Sequence[str], timeout: float, *, here: bool) -> Health:
    async def look(app: Tenure) -> Health:
        return await app.operate.health(queues, here=here)

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


def _line(found: Health) -> str:
    if not found.healthy:
        return f"unhealthy: {'; '.join(found.problems)}"
    served = ", ".join(f"{queue}: {plural(number, 'worker')}" for queue, number in found.queues.items())
    sweep = "the sweep is on time" if found.sweep else "the sweep cannot be checked by this user"
    return f"healthy: {served or plural(found.workers or 0, 'worker')}; {sweep}"
