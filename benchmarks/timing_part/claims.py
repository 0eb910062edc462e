"""The part on learning: every claim, in order. Called by `make bench`.

That learning costs a drain at most three per cent is judged by `slices.py`, which says between what its figure lies; if
the bar lies there too, the table says "not resolved". Measured on two cores that eight others shared: 0.985, from 0.980
to 0.991; on against off directly, from 0.965 to 1.026, and off against off from 0.990 to 1.049. Counted by callgrind,
in the same way (fifty times over against not at all): 3,200 of 172,000 instructions of a message, 1.9 %.

What statistics cost is judged in the same way, against two per cent.
"""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks import driving
from benchmarks.interval import interval_of
from benchmarks.table import Table
from benchmarks.timing_part import measure as take
from benchmarks.timing_part.slices import ARMS

REPEATS = 5
DRAINS = 15
_MODULE = "benchmarks.timing_part.slices"

Block = dict[str, float]


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("samples and leases…"):
        for name, sized in (("", False), (" with a size", True)):
            table.add(f"a sample{name}, µs", [take.observing(sized=sized) for _ in range(REPEATS)], "≤", 1.0)
            table.add(f"a lease{name}, µs", [take.choosing(sized=sized) for _ in range(REPEATS)], "≤", 5.0)
    with console.status("a drain in slices, with and without learning…"):
        answer = driving.last_line(driving.run(_MODULE, 3 if quick else DRAINS))
    _compare(table, answer, "learning", 0.97)
    with console.status("a drain in slices, with and without statistics…"):
        answer = driving.last_line(driving.run(_MODULE, 3 if quick else DRAINS, "statistics"))
    _compare(table, answer, "statistics", 0.98)


def _compare(table: Table, answer: dict[str, Any], what: str, bar: float) -> None:
    blocks: list[Block] = answer["blocks"]
    second = float(answer["second_us"])
    table.add_interval(
        f"drain with {what} / without, by a tenth of tenfold", interval_of(blocks, _rate(second)), "≥", bar
    )
    table.add_interval(f"the same of {what}, directly", interval_of(blocks, _direct("on")))
    table.add_interval(f"without {what} / without", interval_of(blocks, _direct("same")))
    table.figures |= {
        f"a message without {what}, ns": 1e3 * median(block["off"] for block in blocks),
        f"… and with {what}, ns more": 1e3 * median(_extra(block) for block in blocks),
        f"what {what} does once a second, ns": 1e3 * second,
    }


def _extra(block: Block) -> float:
    """Microseconds that learning takes for a message."""
    return (block["tenfold"] - block["off"]) / ARMS["tenfold"]


def _rate(second_us: float) -> Callable[[Sequence[Block]], float]:
    """Messages a second with learning, over those without it."""

    def figure(blocks: Sequence[Block]) -> float:
        # Of a loop that does nothing else, all of a second but for what is done once.
        left = 1.0 - second_us / 1e6
        return left * median(block["off"] / (block["off"] + _extra(block)) for block in blocks)

    return figure


def _direct(arm: str) -> Callable[[Sequence[Block]], float]:
    return lambda blocks: median(block["off"] / block[arm] for block in blocks)
