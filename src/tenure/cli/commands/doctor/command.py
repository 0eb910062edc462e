"""`tenure doctor`: configuration against reality, each finding with what to do, and an exit code."""

import asyncio

import click

from tenure.app import Tenure
from tenure.cli.failing import BAD_INPUT, DONE, TROUBLE
from tenure.cli.target import find, json_option, opened, target_argument
from tenure.cli.terminal.duration import DURATION
from tenure.cli.terminal.output import say_json
from tenure.client.operations.doctor.diagnosis import Diagnosis
from tenure.errors import BrokerError
from tenure.finding import Severity

#: For `--fail-on`.
_NEVER = "never"


@click.command(short_help="Check the whole set-up, and say what to change.")
@target_argument
@click.option(
    "--fail-on",
    type=click.Choice([*(one.value for one in Severity), _NEVER]),
    default=Severity.WARNING.value,
    show_default=True,
    help="Exit with 1 from this severity on.",
)
@click.option("--timeout", type=DURATION, default="30s", help="How long one check may take. Default: 30s.")
@json_option
def doctor(target: str | None, fail_on: str, timeout: float, *, as_json: bool) -> int:
    """Compare the configuration with reality: store, queues, workers, leases, tokens, webhooks, settings.

    Every finding says what was seen and what to do. Nothing is changed. Run it where the workers run, with their
    environment: settings and clock are those of this process. Without a sweep it waits for two sweep intervals.

    \b
    Exit codes:
      0  nothing at or above --fail-on
      1  a finding at or above --fail-on
      2  it could not look: the store is away, or a check broke off; bad input

    \b
    tenure doctor jobs:app
    tenure doctor redis://host:6379/0 --fail-on critical --json
    """  # noqa: D301 - click's mark for lines that stay as they are
    app = find(target)
    found = asyncio.run(_examined(app, timeout))
    if as_json:
        say_json(found)
    else:
        from tenure.cli.commands.doctor.page import show

        show(found)
    return exit_code(found, fail_on)


def exit_code(found: Diagnosis, fail_on: str) -> int:
    """The exit code. A finding counts before a check that broke off."""
    if fail_on != _NEVER and found.has_from(Severity(fail_on)):
        return TROUBLE
    return DONE if found.is_complete else BAD_INPUT


async def _examined(app: Tenure, seconds: float) -> Diagnosis:
    async def look(app: Tenure) -> Diagnosis:
        return await app.operate.doctor(timeout_seconds=seconds)

    try:
        return await opened(app, look)
    except BrokerError as error:
        from tenure.client.operations.doctor.operations import away

        return away(app.operate.access, error)
