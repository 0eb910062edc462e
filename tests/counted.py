"""How many tests all stages of a run have passed, for the last line of `.ci/run`.

Each stage is a pytest of its own, and a part may have no test for one of them, so the last stage alone says nothing
about the run. With `TENURE_TEST_COUNTS` in the environment every pytest adds a line to that file: passed, failed,
errors, skipped. A pytest plugin, loaded by `conftest.py`; summed up by `python -m tests.counted FILE`.
"""

import os
import sys
from pathlib import Path

import pytest

_VARIABLE = "TENURE_TEST_COUNTS"
_KINDS = ("passed", "failed", "error", "skipped")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add a line. A worker of xdist adds none: its tests are counted by the process that prints the summary."""
    path = os.environ.get(_VARIABLE)
    if path and "PYTEST_XDIST_WORKER" not in os.environ:
        counts = [len(terminalreporter.stats.get(kind, ())) for kind in _KINDS]
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, counts)) + "\n")


def summed(text: str) -> str:
    """All lines of such a file as one sentence."""
    rows = [[int(count) for count in line.split()] for line in text.splitlines()]
    passed, failed, errors, skipped = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0, 0)
    return f"{passed} passed, {failed + errors} failed, {skipped} skipped"


if __name__ == "__main__":
    print(summed(Path(sys.argv[1]).read_text(encoding="utf-8")))  # noqa: T201 - the log of CI
