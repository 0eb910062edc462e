"""Standard output: JSON for programs, lines and tables for people.

Nothing else writes for people: what comes from messages and stores is made plain here (`plain.py`, `screen.py`).
"""

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

import click
import msgspec

from tenure.cli.terminal.plain import one_line, plain_json, plain_lines
from tenure.text.plural import plural as plural  # noqa: PLC0414 - the commands take it from here

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Colours of the sixteen that every terminal has. The word always stands beside its colour.
STATE_STYLES = {
    "ready": "cyan",
    "delayed": "yellow",
    "leased": "blue",
    "completed": "green",
    "dead": "red",
    "cancelled": "dim",
}

#: Below this dead letters take two lines each; workers and schedules where they do not fit on one.
WIDE = 130
#: Between two columns, and the least that is left of a name.
_GAP, _LEAST_NAME = 2, 8
#: In a pipe, where lines may be of any length.
_LONGEST_RULE = 100


def say_json(value: Any) -> None:
    """Print one JSON document on one line."""
    click.echo(plain_json(msgspec.json.encode(value)))  # noqa: TID251 - here


def say_line(text: str, *, err: bool = False) -> None:
    """Print one line for people, whatever the names in it are."""
    click.echo(one_line(text), err=err)  # noqa: TID251 - here


def say_lines(text: str, *, err: bool = False) -> None:
    """A text of several lines."""
    click.echo(plain_lines(text), err=err)  # noqa: TID251 - here


def console(*, err: bool = False) -> "Console":
    """Standard output, or standard error, for tables; into a file or a pipe nothing is wrapped, cut or padded."""
    from tenure.cli.terminal.screen import Screen

    if err:
        return Screen(stderr=True)
    if sys.stdout.isatty():
        return Screen()
    return Screen(width=1_000, file=cast("TextIO", _Unpadded(sys.stdout)))


class _Unpadded:
    """Writes without the blanks at the ends of lines, which only make `diff` and `grep` harder."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, a whole number of lines at a time. The rule below a header need not be as long as the longest row."""
        text = re.sub(" +$", "", text, flags=re.MULTILINE)
        return self._file.write(re.sub(f"^(─{{{_LONGEST_RULE}}})─+$", r"\1", text, flags=re.MULTILINE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> "Table":
    """A table without frames: a header, a rule, rows."""
    from rich import box

    from tenure.cli.terminal.screen import OneLineTable

    table = OneLineTable(
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True)
    return table


def count(number: int | None, *, estimated: bool = False) -> str:
    """A figure. None, what cannot be known, is a dash; 0 is 0."""
    if number is None:
        return "–"
    return f"{'~' if estimated else ''}{number:,}"


def give_way(table: "Table", width: int, *steps: tuple[str, int]) -> None:
    """Shorten columns of a table that is too wide: those that `steps` name, in this order, each to its width.

    The others, such as ids and figures, are never cut: a column that is not named keeps the width of its widest cell.
    """
    wanted = _widths(table)
    over = _total(wanted) - width
    for name, least in steps:
        cut = max(0, min(over, wanted[name] - least))
        wanted[name] -= cut
        over -= cut
    for column in table.columns:
        column.min_width = column.max_width = wanted[str(column.header)]
        column.overflow = "ellipsis"


def fits(table: "Table", width: int) -> bool:
    """Whether every cell of the table is shown whole in this many columns."""
    return _total(_widths(table)) <= width


def _widths(table: "Table") -> dict[str, int]:
    """The width of the widest cell of each column, by its heading."""
    wanted = {}
    for column in table.columns:
        lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
        wanted[str(column.header)] = max(map(cell_width, lines), default=0)
    return wanted


def _total(wanted: dict[str, int]) -> int:
    return sum(wanted.values()) + _GAP * (len(wanted) - 1)


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def keep_figures(table: "Table", width: int, names: int = 1) -> None:
    """Shorten the first `names` columns where a terminal is narrow; no figure is cut."""
    left = width
    for column in table.columns[names:]:
        lines = [line for cell in (column.header, *column.cells) for line in str(cell).splitlines()]
        column.min_width = max(map(len, lines), default=0)
        left -= column.min_width + _GAP
    for column in table.columns[:names]:
        column.overflow = "ellipsis"
        column.max_width = max(_LEAST_NAME, left // names - _GAP)
