"""`tenure dead`: look at dead letters, send them back, or delete them.

list.py     which there are
choosing.py which of them an act is about
acting.py   redrive and delete: said before, asked where it is many, recorded after

`show` is `tenure show`.
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "list": ("tenure.cli.dead.list:list_", "Show the dead letters and their reasons."),
    "show": ("tenure.cli.show.command:show", "Show the whole life of one message."),
    "redrive": ("tenure.cli.dead.acting:redrive", "Send dead letters back to their queue."),
    "delete": ("tenure.cli.dead.acting:delete", "Remove dead letters; the record stays."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Look at dead letters, send them back, or delete them.")
def dead() -> None:
    """Look at dead letters, send them back, or delete them.

    A message is a dead letter when it failed too often, was rejected, could not be read, or crashed a process
    in which it ran alone. It is kept with its bytes and its reason until somebody decides.
    """
