"""The part on learning: every claim, in order. Called by `make bench`."""

from statistics import median

from rich.console import Console

from benchmarks.table import Table
from benchmarks.timing_part import measure as take

REPEATS = 5
DRAINS = 9
COUNT = 20_000


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("samples and leases…"):
        for name, sized in (("", False), (" with a size", True)):
            table.add(f"a sample{name}, µs", [take.observing(sized=sized) for _ in range(REPEATS)], "≤", 1.0)
            table.add(f"a lease{name}, µs", [take.choosing(sized=sized) for _ in range(REPEATS)], "≤", 5.0)
    with console.status("drains with and without learning, interleaved…"):
        runs = [
            (take.drain(COUNT, learning=True), take.drain(COUNT, learning=False)) for _ in range(3 if quick else DRAINS)
        ]
    rates, cpus = ([one[what] / other[what] for one, other in runs] for what in ("rate", "cpu_us"))
    # Two ways to say the same: a machine that others use moves the first, hardly the second.
    table.add("drain with learning / without, messages a second", rates, "≥", 0.97)
    table.add("without / with, by CPU of a message", [1.0 / ratio for ratio in cpus], "≥", 0.97)
    table.either(2)
    table.figures |= {"drain_per_second": median(one["rate"] for one, _ in runs)}
