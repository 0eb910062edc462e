"""Soak: the scenarios of faults again and again, longer and on every server, until the time is over or one fails.

Run as `python -m tests.scenarios.soak [minutes]`, or `make soak ARGS=60`. Ends with one line of figures.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.scenarios.figures import Figures, total

_HERE = Path(__file__).resolve().parent
#: What is played: whatever happens to workers, to servers and to the way between them.
_FILES = (
    "test_killing.py", "test_away.py", "test_cutting.py", "test_garbage.py", "test_crashing.py", "test_freezing.py",
    "test_keys.py", "test_outliving.py", "test_children.py", "test_failing.py", "test_stopping.py",
    "test_supervising.py",
)  # fmt: skip


def main() -> int:
    """Play rounds; 1 if a scenario failed."""
    parser = argparse.ArgumentParser(description="Play the scenarios of faults again and again.")
    parser.add_argument("minutes", type=float, nargs="?", default=30.0, help="begin no scenario after so long")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="for pytest, as in: 10 -k redis62")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory(prefix="tenure-soak-") as folder:
        file = Path(folder) / "figures"
        file.touch()
        code = 0
        while code == 0 and time.monotonic() < deadline:
            code = _play(file, deadline, given.words)
        print(f"soak: {total(Figures.read(file))}")  # noqa: T201 - the answer
    return 1 if code else 0


def _play(file: Path, deadline: float, words: list[str]) -> int:
    """One round; its exit code."""
    environment = os.environ | {"SOAK_FIGURES": str(file), "SOAK_UNTIL": str(deadline)}
    files = [str(_HERE / name) for name in _FILES]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files, *words]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
