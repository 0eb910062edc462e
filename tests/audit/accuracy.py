"""What the audit finds in the corpus, by rule: `python -m tests.audit.accuracy` prints it as a table.

Every expected finding is marked in the corpus (`# expect: TQ101`). Found: said where it is marked. Missed: marked, and
not said. False: said where nothing is marked, in good workers or bad ones.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tenure.audit import RULES, audit

CORPUS = Path(__file__).parent / "corpus"
Marks = set[tuple[int, str]]


class Accuracy(NamedTuple):
    """One rule."""

    rule: str
    found: int
    missed: int
    false: int


def marked(path: Path) -> Marks:
    """What is expected of a file: lines and rules."""
    if path.stem == "broken":  # a comment in it would not be read
        return {(1, "TQ901")}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {
        (number, rule)
        for number, line in enumerate(lines, 1)
        for rule in re.findall(r"TQ\d+", line.partition("# expect:")[2])
    }


def said(path: Path) -> Marks:
    """What the audit says of a file."""
    return {(one.line, one.finding.id) for one in audit([str(path)]).findings}


def accuracies() -> list[Accuracy]:
    """Every rule over the whole corpus."""
    files = [(marked(path), said(path)) for path in sorted(CORPUS.rglob("*.py"))]
    return [Accuracy(rule, *_counts(rule, files)) for rule in RULES]


def _counts(rule: str, files: list[tuple[Marks, Marks]]) -> Iterator[int]:
    of_rule = [({one for one in a if one[1] == rule}, {one for one in b if one[1] == rule}) for a, b in files]
    yield sum(len(expected & found) for expected, found in of_rule)
    yield sum(len(expected - found) for expected, found in of_rule)
    yield sum(len(found - expected) for expected, found in of_rule)


def table() -> str:
    """The table, as the page of rules shows it."""
    rows = accuracies()
    bad, good = (len(list((CORPUS / kind).rglob("*.py"))) for kind in ("bad", "good"))
    lines = ["| rule | found | missed | false |", "|---|---|---|---|"]
    lines += [f"| `{one.rule}` | {one.found} | {one.missed} | {one.false} |" for one in rows]
    total = [sum(one.found for one in rows), sum(one.missed for one in rows), sum(one.false for one in rows)]
    lines.append(f"| all, in {bad} bad workers and {good} good ones | {total[0]} | {total[1]} | {total[2]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201 - a command
