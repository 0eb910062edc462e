"""The part on learning: every claim, in order. Called by `make bench`."""

from itertools import permutations
from statistics import median

from rich.console import Console

from benchmarks.table import Table
from benchmarks.timing_part import measure as take

REPEATS = 5
DRAINS = 12
COUNT = 20_000


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("samples and leases…"):
        for name, sized in (("", False), (" with a size", True)):
            table.add(f"a sample{name}, µs", [take.observing(sized=sized) for _ in range(REPEATS)], "≤", 1.0)
            table.add(f"a lease{name}, µs", [take.choosing(sized=sized) for _ in range(REPEATS)], "≤", 5.0)
    with console.status("drains with and without learning, interleaved…"):
        runs = [_drains(number) for number in range(3 if quick else DRAINS)]
    by_rate = [run["on"]["rate"] / run["off"]["rate"] for run in runs]
    by_cpu = [run["off"]["cpu_us"] / run["on"]["cpu_us"] for run in runs]
    # Two ways to say the same: a machine that others use moves the first, and the second less.
    table.add("drain with learning / without, messages a second", by_rate, "≥", 0.97)
    table.add("without / with, by CPU of a message", by_cpu, "≥", 0.97)
    table.either(2)
    # How far two that are the same are apart here: where that is more than three per cent, the two above say nothing.
    table.add("without / without, by CPU", [run["off"]["cpu_us"] / run["same"]["cpu_us"] for run in runs])
    table.figures |= {"drain_per_second": median(run["on"]["rate"] for run in runs)}


def _drains(number: int) -> dict[str, dict[str, float]]:
    """One of each, in another order each time: whoever is first meets another machine than whoever is last."""
    orders = list(permutations(("on", "off", "same")))
    return {name: take.drain(COUNT, learning=name == "on") for name in orders[number % len(orders)]}
