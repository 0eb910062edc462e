"""The screen: rich's console for text that others wrote. Everything for people that is drawn goes through it.

Names, keys, headers and errors come from every sender, and from people who edit a store by hand. Here they cannot
steer a terminal (escapes are shown, not sent), turn text around (bidi overrides) or be taken for markup: there is none.
Made by `output.console`; apart from it, because rich takes long to import.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tenure.cli.terminal.plain import is_plain, one_line, plain_lines


class Screen(Console):
    """A console without markup, on which no character but a line break does anything."""

    def __init__(self, **options: Any) -> None:
        """Make rich's console, without its guesses about a text."""
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def print(self, *shown: Any, **options: Any) -> None:
        """Print. A `str` is one line, but for line breaks before it; of several lines only a `Text` is."""
        super().print(*(_one_line(one) if isinstance(one, str) else one for one in shown), **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A text that was printed, or stands in a table. Its width is that of what is shown."""
        return super().render_str(plain_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever else is drawn; what rich itself says to the terminal (moves, colours) is no text, and passes."""
        if isinstance(renderable, Text) and not is_plain(renderable.plain):
            renderable = renderable.copy()
            renderable.plain = plain_lines(renderable.plain)
        for segment in super().render(renderable, options):
            if segment.control or is_plain(segment.text):
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


def _one_line(text: str) -> str:
    rest = text.lstrip("\n")
    return text[: len(text) - len(rest)] + one_line(rest)


def stacked(*lines: str) -> Text:
    """A cell of several lines, each of which is one."""
    return Text("\n".join(map(one_line, lines)))


class OneLineTable(Table):
    """A table of which a cell is one line: a line break in a name must not forge a row."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row. A `Text` is left as it is: it was put together here, perhaps of two lines."""
        super().add_row(*(one_line(cell) if isinstance(cell, str) else cell for cell in cells), **options)
