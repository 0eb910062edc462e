"""The part on SQLite: every claim, in order. Called by `make bench`."""

from statistics import median

from rich.console import Console

from benchmarks.sqlite_part import looking, queues
from benchmarks.sqlite_part import measure as take
from benchmarks.table import Table

REPEATS = 5
COUNT = 20_000
LARGE = 1_000_000


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("bare loop and worker, interleaved…"):
        bare, drained = [], []
        for _ in range(REPEATS):
            bare.append(take.bare_loop(COUNT))
            drained.append(take.drain(COUNT))
    cycle = median(run["cycle"] for run in bare)
    rate = median(run["rate"] for run in drained)
    send = median(run["send_rate"] for run in drained)
    figures = {f"bare_{part}_per_second": median(run[part] for run in bare) for part in ("send", "drain", "cycle")}
    table.figures |= figures | {"drain_per_second": rate, "send_per_second": send}
    table.add("no-op drain / bare cycle", rate / cycle, "≥", 0.25)
    table.add("no-op drain / bare drain", rate / figures["bare_drain_per_second"])
    table.add("submit_many / bare cycle", send / cycle, "≥", 0.40)
    table.add("submit_many / bare send", send / figures["bare_send_per_second"])
    table.add("worker CPU a message, µs", [run["cpu_us"] for run in drained], "≤", 60.0)
    with console.status("one submit against one raw send…"):
        single = [take.submitting(1000) for _ in range(REPEATS)]
    table.figures |= {f"one_{name}": median(run[name] for run in single) for name in ("submit_us", "send_us")}
    table.add("submit of one / raw send of one", [run["submit_us"] / run["send_us"] for run in single], "≤", 1.15)
    with console.status("200,000 messages: memory…"):
        long = take.drain(200_000)
    table.add("worker RSS after 100,000, MB", long["rss_early_mb"], "≤", 70.0)
    table.add("RSS growth over 100,000 more, MB", long["rss_mb"] - long["rss_early_mb"], "≤", 2.0)
    with console.status("latency and idle…"):
        late = take.latency(20)
        idle = take.idle(10)
    table.add("submit to handler, p50 ms", late["p50_ms"], "≤", 10.0)
    table.add("submit to handler, p99 ms", late["p99_ms"], "≤", 50.0)
    table.add("idle worker, % of a core", idle * 100, "≤", 2.0)
    table.add("tenure --help, CPU s", [take.help_cpu() for _ in range(5)], "≤", 0.3)
    if not quick:
        with console.status("backlog of a million…"):
            large = take.backlog(LARGE)
        table.add("drain of 1,000,000 / of 20,000", large["rate"] / rate, "≥", 0.80)
        table.add("depth on 1,000,000, ms", large["depth_ms"], "≤", 100.0)
        table.add("`tenure queues` on it, whole command, ms", large["cli_ms"])
    queues.measure(table, console, quick=quick)
    looking.measure(table, console, quick=quick)
