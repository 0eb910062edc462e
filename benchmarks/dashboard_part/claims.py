"""The part on the dashboard: its start, a table of 100,000 rows, 10,000 leases, ten minutes of events.

Called by `make bench`. The start is by the clock, for a person waits by it; what others use of the machine meanwhile
is told beside it. What pages work while they are watched is by the CPU time of their main thread.
"""

from rich.console import Console
from tests.dashboard.browser import launched

from benchmarks.dashboard_part import watching
from benchmarks.dashboard_part.page import SLOW_DOWN
from benchmarks.dashboard_part.rows import ROWS, interactions
from benchmarks.dashboard_part.start import start
from benchmarks.dashboard_part.store import MESSAGES, shown
from benchmarks.noise import Noise
from benchmarks.table import Table

ROUNDS = 7
_HEAP_SECONDS, _QUICK_SECONDS, _TICK_SECONDS = 600.0, 90.0, 20.0


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with launched() as browser:
        with console.status("starting the page…"), shown() as (_, server):
            noise = Noise()
            start(browser, server.url)
            starts = [start(browser, server.url) for _ in range(ROUNDS)]
            of = f"CPU {SLOW_DOWN:g}× slower, nothing cached, {MESSAGES:,} messages"
            table.add(f"overview's sentence and numbers painted, {of}, ms", [one.shown_ms for one in starts], "≤", 1500)
            table.add("  and a click on the rail answered, ms", [one.usable_ms for one in starts], "≤", 1500)
            table.add("  the main thread's CPU meanwhile, ms", [one.worked_ms for one in starts])
            _add_noise(table, noise)
        with console.status(f"a table of {ROWS:,} rows…"):
            noise = Noise()
            for name, took in interactions(browser, ROUNDS).items():
                table.add(f"{ROWS:,} rows: {name}, act to paint, ms", took, "≤", 100)
            _add_noise(table, noise)
        with console.status(f"{watching.LEASES:,} leases…"), shown(watching.LEASES) as (_, server):
            shares = [watching.ticking(browser, server.url, _TICK_SECONDS) * 100 for _ in range(3)]
            table.add(f"{watching.LEASES:,} leases count down, main thread, % of a core", shares, "≤", 10)
        seconds = _QUICK_SECONDS if quick else _HEAP_SECONDS
        with console.status(f"{seconds:g} s of events…"), shown() as (url, server):
            looks = watching.heap(browser, server.url, url, seconds)
            name = f"heap in {seconds:g} s of {watching.PER_SECOND} events/s"
            table.add(f"{name}, growth from the second third to the last, %", watching.growth(looks) * 100, "≤", 5)
            table.add("  the heap, MB", looks)


def _add_noise(table: Table, noise: Noise) -> None:
    if (others := noise.cores()) is not None:
        table.add("  cores used by others meanwhile, server and browser among them", others)
