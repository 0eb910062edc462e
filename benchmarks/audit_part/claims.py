"""How long `tenure audit` takes for 100,000 lines. Called by `make bench`.

Once of workers alone, the corpus of its tests over and over, where every rule has something to look at; once of
ordinary code, what is installed beside us, where most files have nothing to do with queues.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from sysconfig import get_path

from rich.console import Console

from benchmarks.table import Table

REPEATS = 3
LINES = 100_000
_CORPUS = Path(__file__).parents[2] / "tests" / "audit" / "corpus"


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    kinds = {"workers": sorted(_CORPUS.rglob("*.py"))}
    if not quick:
        kinds["ordinary code"] = sorted(Path(get_path("purelib")).rglob("*.py"))
    for kind, files in kinds.items():
        with tempfile.TemporaryDirectory() as folder, console.status(f"{LINES:,} lines of {kind}…"):
            lines = _fill(Path(folder), files)
            rounds = [_seconds(folder) * LINES / lines for _ in range(REPEATS)]
        table.add(f"audit of 100,000 lines of {kind}, s", rounds, "≤", 30.0)
        table.figures[f"lines of {kind}"] = lines


def _fill(folder: Path, files: list[Path]) -> int:
    """Copy files until there are enough lines; how many there are."""
    lines = number = 0
    while lines < LINES:
        for file in files:
            source = file.read_bytes()
            (folder / f"module_{number}.py").write_bytes(source)
            number += 1
            lines += source.count(b"\n")
            if lines >= LINES:
                break
    return lines


def _seconds(folder: str) -> float:
    """The whole command, from its start to its exit."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "tenure", "audit", folder, "--json", "--fail-on", "never"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
