"""The region of a node, as editors count it: lines and columns from 1, in characters.

The parser counts columns in bytes of UTF-8, which is something else as soon as a line has an umlaut before the place.
"""

import ast
from importlib.util import decode_source
from typing import NamedTuple


class Region(NamedTuple):
    """A range from a character to the one behind the last."""

    line: int
    column: int
    end_line: int
    end_column: int


class Text:
    """The lines of a file that was parsed."""

    def __init__(self, source: bytes) -> None:
        self._lines = decode_source(source).split("\n")

    def region(self, node: ast.expr | ast.stmt | ast.excepthandler) -> Region:
        """Return the region of a node."""
        end_line = node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Region(node.lineno, self.column(node.lineno, node.col_offset), end_line, self.column(end_line, end))

    def column(self, line: int, offset: int) -> int:
        """The column of a place that is `offset` bytes into its line."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1
