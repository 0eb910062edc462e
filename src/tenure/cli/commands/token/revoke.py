"""`tenure token revoke`."""

import click

from tenure.app import Tenure
from tenure.cli.target import find, json_option, run, split_ids
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operator import this_user
from tenure.server.token import AccessToken
from tenure.server.tokens import Tokens


@click.command(short_help="Revoke access tokens, within 5 seconds.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID...")
@json_option
def revoke(words: tuple[str, ...], *, as_json: bool) -> None:
    """Take access tokens back: every server refuses them within 5 seconds, and ends their sessions and streams.

    tenure token list shows the ids. The first unknown id ends the command; those before it are revoked.
    """
    target, ids = split_ids(words)
    if not ids:
        raise click.UsageError("name the tokens by their ids; tenure token list shows them")
    app = find(target)

    async def work(app: Tenure) -> list[AccessToken]:
        tokens = Tokens(app)
        return [await tokens.revoke(id, by=this_user(), triggered_by="cli") for id in ids]

    gone = run(app, work)
    if as_json:
        say_json({"revoked": gone})
        return
    for token in gone:
        say_line(f"Revoked {token.id} of {token.name}.")
