"""`tenure migrate`: come from another system. Each source is a command of its own."""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "celery": ("tenure.cli.commands.migrate_celery:celery", "Write the tasks of a Celery project for Tenure."),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Come from another system: what can be done mechanically.")
def migrate() -> None:
    """Come from another system: what can be done mechanically."""
