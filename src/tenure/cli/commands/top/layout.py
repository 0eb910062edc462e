"""The layout of a line: which columns fit, and how wide each is. Figures keep their width, names give way. Pure."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tenure.cli.terminal.plain import one_line

R = TypeVar("R")

GAP = 2


class Cell(msgspec.Struct, frozen=True):
    """A text and its colour."""

    text: str
    style: str = ""


class Column(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One column of rows of a kind."""

    name: str
    cell: Callable[[R], Cell]
    #: It is never narrower than this; the highest rank is left out first where all cannot be shown. 0: never.
    least: int
    rank: int = 0
    #: It may grow to the width of its widest cell, but no further than this.
    most: int = 0
    right: bool = True
    #: By what rows are ordered; None: by this column they cannot be.
    key: Callable[[R], Any] | None = None
    #: The end of a text that is too long is kept, not its beginning: ids begin with the time.
    keeps_end: bool = False
    #: A text that may be cut without a mark: a sparkline.
    is_course: bool = False


def fit(columns: Sequence[Column[R]], rows: Sequence[R], width: int, heading: str = "") -> list[tuple[Column[R], int]]:
    """The columns that are shown, each with its width. `heading` stands in for the name of the first."""
    kept = list(columns)
    while len(kept) > 1 and _least(kept) > width:
        last = max(range(len(kept)), key=lambda at: (kept[at].rank, at))
        if not kept[last].rank:
            break
        del kept[last]
    widths = [column.least for column in kept]
    free = width - sum(widths) - GAP * (len(kept) - 1)
    for at, column in enumerate(kept):
        name = heading if at == 0 and heading else column.name
        wanted = max([cell_len(name), *(cell_len(one_line(column.cell(row).text)) for row in rows)])
        more = max(0, min(free, min(wanted, column.most or column.least) - widths[at]))
        widths[at] += more
        free -= more
    if free < 0:  # narrower than any table: the first column gives what it can
        widths[0] = max(1, widths[0] + free)
    return list(zip(kept, widths, strict=True))


def _least(columns: Sequence[Column[R]]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def line(fitted: Sequence[tuple[Column[R], int]], row: R) -> Text:
    """One row."""
    text = Text(no_wrap=True, overflow="crop")
    for at, (column, width) in enumerate(fitted):
        cell = column.cell(row)
        text.append(" " * GAP if at else "")
        shown = cell.text[-width:] if column.is_course else cell.text
        text.append(sized(shown, width, right=column.right, keeps_end=column.keeps_end), style=cell.style)
    return text


def header(fitted: Sequence[tuple[Column[R], int]], heading: str, sorted_by: str, *, ascending: bool) -> Text:
    """The names of the columns, the one by which rows are ordered marked."""
    text = Text(no_wrap=True, overflow="crop")
    for at, (column, width) in enumerate(fitted):
        name = heading if at == 0 else column.name
        if column.name != sorted_by:
            text.append(" " * GAP if at else "")
            text.append(sized(name, width, right=column.right), style="bold dim")
            continue
        mark = "▴" if ascending else "▾"
        over = 1 if column.right and at and cell_len(name) >= width else 0  # then the mark stands in the gap
        text.append(" " * (GAP - over) if at else "")
        shown = f"{mark}{name}" if column.right else f"{name}{mark}"
        text.append(sized(shown, width + over, right=column.right), style="bold")
    return text


def sized(text: str, width: int, *, right: bool = False, keeps_end: bool = False) -> str:
    """The text in exactly `width` columns; "…" where something was cut off."""
    text = one_line(text)
    wide = cell_len(text)
    if wide <= width:
        return " " * (width - wide) + text if right else text + " " * (width - wide)
    if width <= 1:
        return "…"[:width]
    if keeps_end:
        while cell_len(text) > width - 1:
            text = text[1:]
        return " " * (width - 1 - cell_len(text)) + "…" + text
    kept = set_cell_size(text, width - 1).rstrip()
    return f"{kept}…{' ' * (width - 1 - cell_len(kept))}"
