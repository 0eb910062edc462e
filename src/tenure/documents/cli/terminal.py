"""Output: JSON for programs, lines for people. Text from documents cannot steer a terminal: it is made plain here."""

import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: What moves a terminal's cursor, colours it, or turns text around.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_WIDEST = 100


def plain(text: str) -> str:
    """The text, with its control characters as they are written in Python."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str, *, err: bool = False) -> None:
    """Print lines for people."""
    click.echo(plain(text), err=err)  # noqa: TID251 - made plain here


def say_json(value: Any) -> None:
    """Print one JSON document on one line."""
    raw = msgspec.json.encode(value).decode()
    click.echo(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", raw))  # noqa: TID251 - made plain here


def console(*, err: bool = False) -> "Console":
    """Standard output for styled lines."""
    from rich.console import Console  # noqa: PLC0415 - `--json` needs none

    return Console(stderr=err, highlight=False, markup=False, emoji=False, soft_wrap=True)


def styled(*pieces: tuple[str, str]) -> "Text":
    """One line of pieces of text, each with its style."""
    from rich.text import Text  # noqa: PLC0415 - likewise

    return Text.assemble(*((plain(text).replace("\n", " "), style) for text, style in pieces))


def width() -> int:
    """Columns to fill."""
    return min(_WIDEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 80


def wrapped(text: str, *, indent: str, lines: int) -> list[str]:
    """A text in so many lines at most."""
    words = " ".join(text.split())
    return textwrap.wrap(
        plain(words), width() - 1, initial_indent=indent, subsequent_indent=indent, max_lines=lines, placeholder=" …",
    )  # fmt: skip


def counted(number: int, word: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
