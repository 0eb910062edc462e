"""Changes to a text by the places of its syntax tree, so that comments and layout of the rest stay.

Places come from `ast`: lines from 1, columns in bytes of UTF-8.
"""

import ast
import io
import json
import tokenize

Placed = ast.expr | ast.stmt | ast.arg | ast.excepthandler


def quoted(text: str) -> str:
    """A text as a literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


class Source:
    """A file's text that can be asked for the part of a node."""

    def __init__(self, raw: bytes) -> None:
        """Read the text; a node of `ast.parse(raw)` points into it."""
        self._raw = raw if raw.endswith(b"\n") else raw + b"\n"
        self._starts = [0]
        for line in self._raw.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: Placed) -> tuple[int, int]:
        """Where a node begins and ends, in bytes."""
        assert node.end_lineno is not None  # noqa: S101 - what ast.parse makes has one
        assert node.end_col_offset is not None  # noqa: S101
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: Placed, edits: "Edits | None" = None) -> str:
        """The text of a node, with the edits inside it made."""
        start, end = self.span(node)
        return self.between(start, end, edits)

    def line_start(self, line: int) -> int:
        """Where a line begins, in bytes."""
        return self._starts[line - 1]

    def between(self, start: int, end: int, edits: "Edits | None" = None) -> str:
        """The text between two places, with the edits there made."""
        out, at = [], start
        for first, last, text in sorted(edits.all if edits is not None else []):
            if first < at or last > end:  # outside, or within an edit that was made already
                continue
            out += [self._raw[at:first].decode(), text]
            at = last
        return "".join([*out, self._raw[at:end].decode()])


class Edits:
    """Replacements, of which an outer one hides those inside it."""

    def __init__(self) -> None:
        """Begin with none."""
        self.all: list[tuple[int, int, str]] = []

    def replace(self, span: tuple[int, int], text: str) -> None:
        """Put `text` in place of what is there."""
        self.all = [one for one in self.all if not (span[0] <= one[0] and one[1] <= span[1])]
        if not any(first <= span[0] and span[1] <= last for first, last, _ in self.all):
            self.all.append((*span, text))


def indented(text: str, by: str) -> str:
    """The same lines further in; lines within a text of several lines stay as they are."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.start[0] != token.end[0]:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = text.splitlines(keepends=True)
    return "".join(
        line if number in inside or not line.strip() else f"{by}{line}" for number, line in enumerate(lines, 1)
    )
