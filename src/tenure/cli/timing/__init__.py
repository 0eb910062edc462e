"""`tenure timing`: how long tasks take, what their leases are used for, and what to change.

list.py      every queue and task; `tenure timing TARGET` is short for it
explain.py   one task: why, step by step
profiles.py  what is believed of services before they are measured
looking.py   where the figures come from
"""

import difflib

import click

from tenure.cli.lazy import LazyGroup

_TABLE = {
    "list": ("tenure.cli.timing.list:list_", "Show how long tasks take, how leases fit, and what to do."),
    "explain": ("tenure.cli.timing.explain:explain", "Show why a task's lease is as long as it is."),
    "profiles": ("tenure.cli.timing.profiles:profiles", "Show how long services are expected to take."),
}


class _Timing(LazyGroup):
    """A group that lists where no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`tenure timing jobs:app` is `tenure timing list jobs:app`."""
        word = args[0] if args else ""
        if ":" in word and len(args) > 1 and not args[1].startswith("-"):
            msg = f"{args[1]!r} is one word too many; of one task: tenure timing explain {word} {args[1]}"
            raise click.UsageError(msg, ctx)
        is_command = word in self._table or word in ctx.help_option_names or self._is_like_one(word)
        return super().parse_args(ctx, args if is_command or ctx.resilient_parsing else ["list", *args])

    def _is_like_one(self, word: str) -> bool:
        """A mistyped command; a target has a colon, an option begins with a dash."""
        is_word = bool(word) and ":" not in word and not word.startswith("-")
        return is_word and bool(difflib.get_close_matches(word, self._table, n=1))


@click.group(cls=_Timing, table=_TABLE, short_help="Show how long tasks take, and how their leases fit.")
def timing() -> None:
    """Show how long tasks take, how their leases fit, and what to do.

    `tenure timing TARGET` is short for `tenure timing list TARGET`.
    """
