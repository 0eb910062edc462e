"""`tenure migrate`: come from another system, or from an earlier version. Each source is a command of its own."""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "store": ("tenure.cli.commands.migrate_store:store", "Carry over what an earlier version kept on Azure."),
    "celery": ("tenure.cli.commands.migrate_celery:celery", "Write the tasks of a Celery project for Tenure."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Come from Celery, or from an earlier version.")
def migrate() -> None:
    """Come from another system, or from an earlier version: what can be done mechanically."""
