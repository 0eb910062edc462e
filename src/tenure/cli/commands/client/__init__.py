"""`tenure client`: one client, and what can be done to all that it has.

show.py    what it holds, does, and may use
acts.py    pause, resume, purge
quota.py   how much it may use
weight.py  how large its part of the work time is
forget.py  removes what is kept of it
words.py   `[TARGET] NAME`
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "show": ("tenure.cli.commands.client.show:show", "Show one client and its tasks."),
    "pause": ("tenure.cli.commands.client.acts:pause", "Stop workers from leasing messages of a client."),
    "resume": ("tenure.cli.commands.client.acts:resume", "Let workers lease messages of a client again."),
    "purge": ("tenure.cli.commands.client.acts:purge", "Remove everything that waits for a client."),
    "quota": ("tenure.cli.commands.client.quota:quota", "Set how much of the installation a client may use."),
    "weight": ("tenure.cli.commands.client.weight:weight", "Set how large a client's part of the work time is."),
    "forget": ("tenure.cli.commands.client.forget:forget", "Remove what is kept of a client."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Show, pause, limit, purge or forget one client.")
def client() -> None:
    """Look at one client, and act on all that it has.

    A client is known by its queue, NAME-tasks. `tenure clients` lists all of them.
    """
