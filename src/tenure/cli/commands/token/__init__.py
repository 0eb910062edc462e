"""`tenure token`: access tokens of the server.

create.py         make one, and print it once
list.py           which there are
revoke.py         take them back
rotate_secret.py  replaces the secret that signs what is no access token
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "create": ("tenure.cli.commands.token.create:create", "Make an access token, and print it once."),
    "list": ("tenure.cli.commands.token.list:list_", "Show the access tokens, without their secrets."),
    "revoke": ("tenure.cli.commands.token.revoke:revoke", "Revoke access tokens, within 5 seconds."),
    "rotate-secret": (
        "tenure.cli.commands.token.rotate_secret:rotate_secret",
        "Replace the secret that signs sessions and links.",
    ),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Create, list and revoke access tokens of the server.")
def token() -> None:
    """Create, list and revoke access tokens of the server.

    They are kept in the store, as SHA-256, so it takes access to the store to make the first one. Once there was one,
    every server of this store asks for a token, also on this machine.
    """
