"""`tenure token create`. The token goes to standard output alone, so that a script can keep it."""

import click

from tenure.app import Tenure
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.duration import DURATION
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operator import this_user
from tenure.server.principal import AccessScope, scopes_from
from tenure.server.token import NewToken
from tenure.server.tokens import DEFAULT_EXPIRES_SECONDS, Tokens

_NEVER = "never"
_SCOPES = click.Choice([*(scope.value for scope in AccessScope), "all"])


def _expires(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """None: never."""
    if value is None:
        return DEFAULT_EXPIRES_SECONDS
    return None if value == _NEVER else DURATION.convert(value, _parameter, _ctx)


@click.command(short_help="Make an access token, and print it once.")
@click.argument("words", nargs=-1, metavar="[TARGET] NAME")
@click.option(
    "--scope",
    "-s",
    "scopes",
    multiple=True,
    required=True,
    type=_SCOPES,
    metavar="SCOPE",
    help="send, read, payload, consume, operate, admin or all; repeat it for more.",
)
@click.option(
    "--queue",
    "-q",
    "queues",
    multiple=True,
    help="For this queue only: a name, or a pattern such as 'acme-*'; repeat it. Default: all.",
)
@click.option(
    "--expires",
    callback=_expires,
    metavar="DURATION",
    help="How long it is valid, as in 12h or 90d; or never. Default: 90d.",
)
@json_option
def create(
    words: tuple[str, ...], scopes: tuple[str, ...], queues: tuple[str, ...], expires: float | None, *, as_json: bool
) -> None:
    """Make an access token, and print it once.

    NAME says whose it is, and stands in the audit log beside what is done with it. The token goes to standard output
    and is kept nowhere: who loses it makes a new one. No scope includes another: payload shows what read does not.

    \b
    tenure token create jobs:app ci --scope send --scope read --queue 'acme-*'
    tenure token create redis://host:6379/0 alice --scope all --expires 12h
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, rest = split(words)
    if len(rest) != 1:
        raise click.UsageError("give the token one name, after TARGET")
    app = find(target)

    async def work(app: Tenure) -> NewToken:
        return await Tokens(app).create(
            rest[0],
            sorted(scopes_from(scopes)),
            queues or ("*",),
            expires_seconds=expires,
            by=this_user(),
            triggered_by="cli",
        )

    made = run(app, work)
    if as_json:
        say_json(made)
        return
    until = "does not expire" if made.expires_at is None else f"expires {local(made.expires_at)}"
    may = f"{', '.join(made.scopes)} on {', '.join(made.queues)}"
    say_line(f"Token {made.id} for {made.name}: {may}; {until}. It is shown only now:", err=True)
    say_line(made.token)
