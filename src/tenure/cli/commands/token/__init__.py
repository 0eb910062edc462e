"""`tenure token`: access tokens of the server.

create.py  make one, and print it once
list.py    which there are
revoke.py  take them back
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "create": ("tenure.cli.token.create:create", "Make an access token, and print it once."),
    "list": ("tenure.cli.token.list:list_", "Show the access tokens, without their secrets."),
    "revoke": ("tenure.cli.token.revoke:revoke", "Take access tokens back, within 5 seconds."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Create, list and revoke access tokens of the server.")
def token() -> None:
    """Create, list and revoke access tokens of the server.

    They are kept in the store, as SHA-256, so it takes access to the store to make the first one. Once there was one,
    every server of this store asks for a token, also on this machine.
    """
