"""`tenure monitoring`: files for the systems that watch Tenure.

render.py   rules, alarms, queries and a dashboard, from the catalogue
"""

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "render": (
        "tenure.cli.commands.monitoring.render:render",
        "Write queries, alerts or a dashboard for another system.",
    ),
}


@click.group(cls=LazyGroup, table=_TABLE, short_help="Write queries and alerts for the systems that watch Tenure.")
def monitoring() -> None:
    """Write queries and alerts for the systems that watch Tenure."""
