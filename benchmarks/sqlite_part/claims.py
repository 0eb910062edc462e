"""The part on SQLite: every claim, in order. Called by `make bench`."""

from statistics import median

from rich.console import Console

from benchmarks.kinds_worker import KINDS
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
    shares = [run["rate"] / other["drain"] for run, other in zip(drained, bare, strict=True)]
    table.add("no-op drain / bare drain", shares, "≥", 0.32)
    cycle = median(run["cycle"] for run in bare)
    rate = median(run["rate"] for run in drained)
    send = median(run["send_rate"] for run in drained)
    figures = {f"bare_{part}_per_second": median(run[part] for run in bare) for part in ("send", "drain", "cycle")}
    table.figures |= figures | {"drain_per_second": rate, "send_per_second": send}
    table.add("no-op drain / bare cycle", rate / cycle, "≥", 0.25)
    table.add("submit_many / bare cycle", send / cycle, "≥", 0.40)
    table.add("submit_many / bare send", send / figures["bare_send_per_second"])
    table.add("worker CPU a message, µs", [run["cpu_us"] for run in drained], "≤", 60.0)
    with console.status("one submit against one raw send, and one bare insert…"):
        single = [take.submitting(1000) | {"insert_us": take.inserting(1000)} for _ in range(REPEATS)]
    parts = ("submit_us", "send_us", "insert_us")
    table.figures |= {f"one_{name}": median(run[name] for run in single) for name in parts}
    table.add("bare insert of one / submit of one", [run["insert_us"] / run["submit_us"] for run in single], "≥", 0.6)
    table.add("submit of one / raw send of one", [run["submit_us"] / run["send_us"] for run in single], "≤", 1.15)
    _measure_kinds(table, console)
    with console.status("200,000 messages: memory…"):
        long = take.drain(200_000)
    table.add("worker RSS after 100,000, MB", long["rss_early_mb"], "≤", 70.0)
    table.add("RSS growth over 100,000 more, MB", long["rss_mb"] - long["rss_early_mb"], "≤", 2.0)
    _measure_latency(table, console)
    table.add("tenure --help, CPU s", [take.help_cpu() for _ in range(5)], "≤", 0.3)
    if not quick:
        with console.status("backlog of a million…"):
            large = take.backlog(LARGE)
        table.add("drain of 1,000,000 / of 20,000", large["rate"] / rate, "≥", 0.80)
        table.add("depth on 1,000,000, ms", large["depth_ms"], "≤", 100.0)
        table.add("`tenure queues` on it, whole command, ms", large["cli_ms"])
    queues.measure(table, console, quick=quick)
    looking.measure(table, console, quick=quick)


def _measure_kinds(table: Table, console: Console) -> None:
    """What a kind of message adds to the CPU of a worker. A hand-off is compared with two plain messages."""
    with console.status("messages with a key, a delay, a hand-off, in a thread…"):
        rounds = [{kind: take.worker_cpu(kind, COUNT // 2) for kind in KINDS} for _ in range(REPEATS)]
    for kind, limit in (("key", 16.5), ("delay", None), ("handoff", None), ("def", None)):
        plain = 2 if kind == "handoff" else 1
        added = [run[kind] - plain * run["plain"] for run in rounds]
        if limit is None:
            table.add(f"worker CPU that {kind} adds, µs", median(added))
        else:
            table.add(f"worker CPU that {kind} adds, µs", added, "≤", limit)


def _measure_latency(table: Table, console: Console) -> None:
    """At 50 messages a second, against the bare table, and with nothing to do."""
    with console.status("latency and idle…"):
        yardstick = take.bare_latency(20)
        late = take.latency(20)
        idle = take.idle(10)
    table.figures |= {f"bare_latency_{name}": value for name, value in yardstick.items()}
    table.add("submit to handler, p50 ms", late["p50_ms"], "≤", 10.0)
    table.add("submit to handler, p50 / bare table's", late["p50_ms"] / yardstick["p50_ms"], "≤", 1.5)
    table.add("submit to handler, p99 ms", late["p99_ms"], "≤", 10.0)
    table.add("submit to handler, max over bare table's, ms", late["max_ms"] - yardstick["max_ms"], "≤", 30.0)
    table.add("idle worker, % of a core", idle * 100, "≤", 2.0)
