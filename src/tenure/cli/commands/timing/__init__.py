"""`tenure timing`: how long tasks take, what their leases are used for, and what to change.

list.py      every queue and task; `tenure timing TARGET` is short for it
explain.py   one task: why, step by step
profiles.py  what is believed of services before they are measured
"""

import click

from tenure.cli.lazy import ListingGroup

_TABLE = {
    "list": ("tenure.cli.commands.timing.list:list_", "Show how long tasks take, how leases fit, and what to do."),
    "explain": ("tenure.cli.commands.timing.explain:explain", "Show why a task's lease is as long as it is."),
    "profiles": ("tenure.cli.commands.timing.profiles:profiles", "Show how long services are expected to take."),
}


class _Timing(ListingGroup):
    """Most people who write two words want the second one explained."""

    def too_many(self, target: str, word: str) -> str:
        """Explain why a word after TARGET is refused."""
        return f"{word!r} is one word too many; for one task: tenure timing explain {target} {word}"


@click.group(cls=_Timing, table=_TABLE, short_help="Show how long tasks take, and how their leases fit.")
def timing() -> None:
    """Show how long tasks take, how their leases fit, and what to do.

    `tenure timing TARGET` is short for `tenure timing list TARGET`.
    """
