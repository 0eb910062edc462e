"""`tenure dead`: look at dead letters, send them back, elsewhere or edited, or delete them.

list.py      which there are; `tenure dead TARGET` is short for it
groups.py    what they died of
choosing.py  which of them an act is about
acting.py    redrive and delete: said before, asked where it is many, recorded after
resending.py move and edit: sent again as new messages

`show` is `tenure show`.
"""

import click

from tenure.cli.lazy import ListingGroup

_TABLE = {
    "list": ("tenure.cli.commands.dead.list:list_", "Show the dead letters and their reasons."),
    "groups": ("tenure.cli.commands.dead.groups:groups", "Show what dead letters died of, the largest group first."),
    "show": ("tenure.cli.commands.show.command:show", "Show the whole life of one message, or a group."),
    "redrive": ("tenure.cli.commands.dead.acting:redrive", "Send dead letters back to their queue."),
    "edit": ("tenure.cli.commands.dead.resending:edit", "Send a dead letter again with another payload."),
    "move": ("tenure.cli.commands.dead.resending:move", "Send dead letters to another queue."),
    "delete": ("tenure.cli.commands.dead.acting:delete", "Remove dead letters; the record stays."),
}


@click.group(cls=ListingGroup, table=_TABLE, short_help="Look at dead letters, send them back, or delete them.")
def dead() -> None:
    """Look at dead letters, send them back, or delete them.

    A message is a dead letter when it failed too often, was rejected, could not be read, or crashed a process
    in which it ran alone. It is kept with its bytes and its reason until it is redriven or deleted.

    `tenure dead TARGET` is short for `tenure dead list TARGET`.
    """
