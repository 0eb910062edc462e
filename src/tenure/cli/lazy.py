"""A group whose commands are imported when they are run, so that `tenure --help` pays for none of them."""

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

#: Name → where the command is, and what it does in a few words.
Table = Mapping[str, tuple[str, str]]


class LazyGroup(click.Group):
    """A group made from a table of commands, or from several with a heading each."""

    def __init__(
        self, *args: Any, table: Table | None = None, sections: Mapping[str, Table] | None = None, **kwargs: Any
    ) -> None:
        """Offer the commands of `table` or `sections`, in their order."""
        super().__init__(*args, **kwargs)
        self._sections = sections or {"Commands": table or {}}
        self._table = {name: entry for section in self._sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the table: the order in which people meet them."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command, if there is one of that name."""
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or guess what was meant."""
        if args and not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self._table:
            import difflib

            near = difflib.get_close_matches(args[0], self._table, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self._table)}"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help where no command is given; a shell that completes wants none."""
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else ["--help"])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """List the commands from the table, importing none."""
        widest = max(map(len, self._table))
        for heading, table in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{widest}}", does) for name, (_, does) in table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands from the table, importing none."""
        found = [
            CompletionItem(name, help=does) for name, (_, does) in self._table.items() if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)


class ListingGroup(LazyGroup):
    """A group that lists where no command is named: `tenure workers jobs:app` is `tenure workers list jobs:app`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in that was left out."""
        word = args[0] if args else ""
        if ":" in word and len(args) > 1 and not args[1].startswith("-"):
            raise click.UsageError(self.too_many(word, args[1]), ctx)
        is_command = word in self._table or word in ctx.help_option_names or self._is_like_one(word)
        return super().parse_args(ctx, args if is_command or ctx.resilient_parsing else ["list", *args])

    def too_many(self, target: str, word: str) -> str:
        """Explain why a word after TARGET is refused."""
        return f"{word!r} is unexpected after {target}; commands come first: {', '.join(self._table)}"

    def _is_like_one(self, word: str) -> bool:
        """A mistyped command; a target has a colon, an option begins with a dash."""
        import difflib

        is_word = bool(word) and ":" not in word and not word.startswith("-")
        return is_word and bool(difflib.get_close_matches(word, self._table, n=1))
