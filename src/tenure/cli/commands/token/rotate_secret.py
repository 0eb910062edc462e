"""`tenure token rotate-secret`: replaces the secret of the store, which signs sessions and links."""

import logging

import click

from tenure.act import SECRET_ROTATED, Act
from tenure.app import Tenure
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operator import this_user
from tenure.client.signing import KEEP_SECONDS, Signing
from tenure.errors import BadArgument, BrokerError

logger = logging.getLogger("tenure.server")


@click.command("rotate-secret", short_help="Replace the secret that signs sessions and links.")
@target_argument
@json_option
def rotate_secret(target: str | None, *, as_json: bool) -> None:
    """Replace the secret of the store, which signs sessions, lease tokens and watch links.

    Every server and program of the store signs with the new one within a minute. What the old one signed is accepted
    for 30 more days. Access tokens are not signed: they stay as they are.

    Where TENURE_SECRET_KEY is set, that signs instead. To replace it, set a new one and put the old one into
    TENURE_OLD_SECRET_KEYS.
    """
    run(find(target), _rotate)
    if as_json:
        say_json({"rotated": True, "old_accepted_seconds": KEEP_SECONDS})
    else:
        say_line("Rotated. What the old secret signed is accepted for 30 more days.")


async def _rotate(app: Tenure) -> None:
    if app.settings.secret_key is not None:
        raise BadArgument(
            "TENURE_SECRET_KEY is set, and signs instead of the secret of the store: set a new one there, and put "
            "the old one into TENURE_OLD_SECRET_KEYS; nothing was changed"
        )
    await Signing(app.state, app.clock, app.settings).rotate()
    act = Act(SECRET_ROTATED, app.clock.wall(), this_user(), "cli")
    try:
        await app.state.acts.record([act])
    except BrokerError as error:
        logger.critical("this was done, but could not be written to the audit log (%s): %s", error, act)
