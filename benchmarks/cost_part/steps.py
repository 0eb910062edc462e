"""The stated load at one place: its steps, and what each asks the cloud for, costs and takes.

Each step runs as a process of its own (`load.py`) under a prefix of its own, on this state of Tenure or on another one,
whose `src` folder is named. Used by `claims.py` and `compare.py`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import driving
from tenure.simulation import prices

_ROOT = Path(__file__).parents[2]
MILLION = 1_000_000
HOUR = 3600.0
#: Step, its words, and whether it is told by the hour instead of by the message.
_FULL = {
    "singly": ("200",), "batched": ("1000",), "keyed": ("640",), "retried": ("640",), "dead": ("640",),
    "long": ("32", "25"), "idle": ("60",),
}  # fmt: skip
_QUICK = {
    "singly": ("60",), "batched": ("400",), "keyed": ("320",), "retried": ("320",), "dead": ("320",),
    "long": ("32", "25"), "idle": ("20",),
}  # fmt: skip
#: What each counted thing is called in the table; the rest is told by the service's own name.
TRANSACTIONS = ("Table Batch", "Table Change", "Get Entity", "Query Entities")
_NOT_CALLS = frozenset({"bytes", "beats", "SQS units", "write units", "read units"})


class Figures(NamedTuple):
    """What one message (or, of an idle worker, one hour) takes."""

    calls: Mapping[str, float]
    #: CPU seconds of the process.
    cpu: float

    @property
    def requests(self) -> float:
        """Calls to the API."""
        return sum(count for name, count in self.calls.items() if name not in _NOT_CALLS)

    @property
    def transactions(self) -> float:
        """Transactions of an account's tables: a batch is one, and so is each query."""
        return sum(self.calls.get(name, 0.0) for name in TRANSACTIONS)

    @property
    def dollars(self) -> float:
        """List prices."""
        # SQS sells a request by what it carries, so its units are counted in the place of requests.
        lists = (prices.QUEUES, prices.TABLES, prices.BLOBS, prices.DYNAMO, {"SQS units": prices.SQS_REQUEST})
        return sum(prices.dollars(self.calls, one) for one in lists)


def measure(
    url_of: Callable[[str], str],
    *,
    quick: bool,
    source: Path | None = None,
    rounds: int = 1,
    only: Collection[str] = (),
) -> dict[str, Figures]:
    """Run every step; the figures by the step and its side (`send` or `work`)."""
    found: dict[str, list[Figures]] = {}
    for number in range(rounds):
        for step, words in (_QUICK if quick else _FULL).items():
            if (number and step in ("long", "idle")) or (only and step not in only):
                continue
            for side, figures in run(url_of(f"{step[:4]}{number}"), step, *words, source=source).items():
                found.setdefault(f"{step}, {side}", []).append(figures)
    return {name: _middle(some) for name, some in found.items()}


def run(url: str, step: str, *words: str, source: Path | None = None) -> dict[str, Figures]:
    """One step, on the state of Tenure in `source`."""
    environment = driving.environment(url) | ({} if source is None else {"PYTHONPATH": f"{source}:{_ROOT}"})
    command = [sys.executable, "-m", "benchmarks.cost_part.load", step, *words]
    done = subprocess.run(command, env=environment, cwd=_ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{step}: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {side: _each(one, HOUR if step == "idle" else 1.0) for side, one in answer.items()}


def _each(answer: Mapping[str, Any], unit: float) -> Figures:
    calls = {name: count / answer["count"] * unit for name, count in answer["calls"].items()}
    return Figures(calls, answer["cpu"] / answer["count"] * unit)


def _middle(some: list[Figures]) -> Figures:
    """The medians of several rounds."""
    names = {name for one in some for name in one.calls}
    calls = {name: median(one.calls.get(name, 0.0) for one in some) for name in sorted(names)}
    return Figures(calls, median(one.cpu for one in some))
