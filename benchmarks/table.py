"""The table: what was measured, its bar, and whether it is met. Printed, and kept in `results.json`.

Each part fills one; parts that did not run keep what stands in the file.
"""

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from benchmarks.interval import Interval

#: In the order of the file.
PARTS = ("sqlite", "redis", "sqs", "azure", "server", "dashboard", "timing", "simulate", "audit", "webhooks", "clients",
         "monitoring", "cost")  # fmt: skip
RESULTS = Path(__file__).parent / "results.json"


class Row(NamedTuple):
    """One measure. Without a bar it is information."""

    measure: str
    value: float
    sign: str = ""
    limit: float = 0.0
    #: The lowest and the highest of several rounds.
    spread: tuple[float, float] | None = None
    #: Between what the value lies. A bar that lies there too can neither be met nor missed.
    interval: tuple[float, float] | None = None
    #: Another row of the same claim holds instead: the claim is met by either.
    met_otherwise: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the bar is met; None: there is none, or that is not known (`is_unresolved`)."""
        if not self.sign or self.is_unresolved:
            return None
        return self.met_otherwise or (self.value >= self.limit if self.sign == "≥" else self.value <= self.limit)

    @property
    def is_unresolved(self) -> bool:
        """Whether the bar lies within the interval: by these rounds nobody can say."""
        return bool(self.sign) and self.interval is not None and self.interval[0] < self.limit < self.interval[1]

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.is_unresolved:
            return "not resolved"
        return {None: "", True: "ok", False: "MISSED"}[self.holds]

    @property
    def bar(self) -> str | None:
        """As it is written."""
        return f"{self.sign} {self.limit:g}" if self.sign else None


class Table:
    """The rows of one part, and plain figures beside them."""

    def __init__(self, part: str) -> None:
        """Empty."""
        self.part = part
        self.rows: list[Row] = []
        self.figures: dict[str, float] = {}

    def add(self, measure: str, values: float | Sequence[float], sign: str = "", limit: float = 0.0) -> float:
        """A measure, from one round or the median of several; the value."""
        rounds = list(values) if isinstance(values, Sequence) else [values]
        spread = (min(rounds), max(rounds)) if len(rounds) > 1 else None
        value = median(rounds)
        self.rows.append(Row(measure, value, sign, limit, spread))
        return value

    def add_interval(self, measure: str, found: Interval, sign: str = "", limit: float = 0.0) -> None:
        """A measure that says between what it lies, and is judged by that."""
        self.rows.append(Row(measure, found.value, sign, limit, interval=(found.low, found.high)))

    def either(self, count: int) -> None:
        """The last `count` rows are one claim: it is met if one of them is."""
        last = self.rows[-count:]
        if any(row.holds for row in last):
            self.rows[-count:] = [row._replace(met_otherwise=True) for row in last]

    @property
    def holds(self) -> bool:
        """Whether no bar is missed."""
        return all(row.holds is not False for row in self.rows)

    def print(self, console: Console) -> None:
        """For people."""
        grid = Grid("measure", "value", "rounds, or 95 %", "bar", "", title=self.part)
        for row in self.rows:
            spread = "" if row.spread is None else f"{_short(row.spread[0])} to {_short(row.spread[1])}"
            if row.interval is not None:
                spread = f"[{_close(row.interval[0])} to {_close(row.interval[1])}]"
            told = _short(row.value) if row.interval is None else _close(row.value)
            grid.add_row(row.measure, told, Text(spread), row.bar or "", row.verdict)
        console.print(grid)
        for name, value in self.figures.items():
            console.print(f"{name}: {value:,.0f}")

    def write(self, *, keeps_others: bool = False) -> None:
        """Put this part into the file of results. Other parts stay; with `keeps_others` also its other claims."""
        document: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        rows = [
            {"measure": row.measure, "value": row.value, "bar": row.bar, "holds": row.holds, "spread": row.spread,
             "interval": row.interval, "verdict": row.verdict}
            for row in self.rows
        ]  # fmt: skip
        document = {part: document[part] for part in PARTS if part in document}
        figures = self.figures
        if keeps_others and (before := document.get(self.part)):
            rows = [row for claim in (_claims(before["rows"]) | _claims(rows)).values() for row in claim]
            figures = before["figures"] | figures
        document[self.part] = {"python": platform.python_version(), "rows": rows, "figures": figures}
        RESULTS.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _claims(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows by the measure that they belong to: those that begin with a blank belong to the one above."""
    claims: dict[str, list[dict[str, Any]]] = {}
    last: list[dict[str, Any]] = []
    for row in rows:
        if not row["measure"].startswith(" ") or not claims:
            last = claims[row["measure"]] = []
        last.append(row)
    return claims


def _short(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _close(value: float) -> str:
    """Four digits: of what is near 1, the third one behind the point counts."""
    return f"{value:.4g}"
