"""`tenure webhooks`: receivers of webhooks, what was delivered to them, and what failed.

endpoints.py      `endpoints`: add, list, rotate, disable, enable, remove, test
endpoint_list.py  which endpoints there are
endpoint_acts.py  what is done to one
deliveries.py     what waits, what failed, what arrived
replay.py         failed deliveries once more
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "endpoints": ("tenure.cli.commands.webhooks.endpoints:endpoints", "Show, add and change the receivers."),
    "deliveries": ("tenure.cli.commands.webhooks.deliveries:deliveries", "Show deliveries: waiting, failed or done."),
    "replay": ("tenure.cli.commands.webhooks.replay:replay", "Send failed deliveries once more."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Register receivers of webhooks; show and replay deliveries.")
def webhooks() -> None:
    """Register receivers of webhooks; look at deliveries, and replay failed ones.

    The end of a message that names an endpoint (submit --webhook) is posted to it: signed, with a webhook-id by which
    a repeat is recognised. Workers and `tenure serve` deliver.
    """
