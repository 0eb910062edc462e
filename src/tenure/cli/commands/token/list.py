"""`tenure token list`."""

import click

from tenure.app import Tenure
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.output import console, give_way, plain_table, say_json
from tenure.server.token import AccessToken
from tenure.server.tokens import Tokens


@click.command("list", short_help="Show the access tokens, without their secrets.")
@target_argument
@json_option
def list_(target: str | None, *, as_json: bool) -> None:
    """Show the access tokens, the newest first: whose they are, what they may do, and when they were last used.

    Those that have expired are gone. When one was last used is known to the minute.
    """
    app = find(target)
    tokens, wall = run(app, _read)
    if as_json:
        say_json({"tokens": tokens})
        return
    out = console()
    if not tokens:
        out.print("There are no access tokens.")
        return
    rows = plain_table("id", "name", "scopes", "queues", "last used", "expires")
    for token in tokens:
        rows.add_row(
            token.id,
            token.name,
            ", ".join(token.scopes),
            ", ".join(token.queues),
            "never" if token.used_at is None else f"{spoken(wall - token.used_at)} ago",
            "never" if token.expires_at is None else local(token.expires_at)[:16],
        )
    give_way(rows, out.width, ("queues", 12), ("name", 10), ("scopes", 12))
    out.print(rows)


async def _read(app: Tenure) -> tuple[list[AccessToken], float]:
    return await Tokens(app).list(), app.state.wall()
