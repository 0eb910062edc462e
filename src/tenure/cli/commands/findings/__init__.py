"""`tenure findings`: what is wrong now, as alerts and detectors judge it.

list.py   what fires, and what cleared within a day
acts.py   acknowledge one, silence one
rules.py  the same alerts as rules for Prometheus
"""

import click

from tenure.cli.lazy import ListingGroup

_ACTS = "tenure.cli.commands.findings.acts"
_TABLE = {
    "list": ("tenure.cli.commands.findings.list:list_", "Show what is wrong, the worst first."),
    "ack": (f"{_ACTS}:ack", "Say that you have seen a finding."),
    "silence": (f"{_ACTS}:silence", "Silence a finding for a while."),
    "rules": ("tenure.cli.commands.findings.rules:rules", "Print the alerts as rules for Prometheus."),
}


@click.group(cls=ListingGroup, table=_TABLE, short_help="Show what is wrong now; acknowledge or silence it.")
def findings() -> None:
    """Show what is wrong now, as alerts and detectors judge it; acknowledge or silence it.

    Workers and `tenure serve` judge, one of them at a time. `tenure findings TARGET` is short for
    `tenure findings list TARGET`.
    """
