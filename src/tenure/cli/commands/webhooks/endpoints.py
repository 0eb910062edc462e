"""`tenure webhooks endpoints`."""

import click

from tenure.cli.lazy import ListingGroup

_ACTS = "tenure.cli.commands.webhooks.endpoint_acts"
_TABLE = {
    "list": ("tenure.cli.commands.webhooks.endpoint_list:list_", "Show the endpoints and how they answer."),
    "add": (f"{_ACTS}:add", "Register a receiver; its secret is printed once."),
    "rotate": (f"{_ACTS}:rotate", "Give an endpoint a new secret; both sign for a day."),
    "disable": (f"{_ACTS}:disable", "Send an endpoint nothing more; its endings wait."),
    "enable": (f"{_ACTS}:enable", "Let an endpoint's endings go out again."),
    "remove": (f"{_ACTS}:remove", "Remove an endpoint; its endings become dead letters."),
    "test": (f"{_ACTS}:test", "Post a signed test request from here."),
}


@click.group(cls=ListingGroup, table=_TABLE, short_help="Show, add and change the receivers.")
def endpoints() -> None:
    """Show, add and change the receivers of webhooks.

    `tenure webhooks endpoints TARGET` is short for `tenure webhooks endpoints list TARGET`.
    """
