"""The part on the server: every claim on each store, in order. Called by `make bench`.

Rates of sending and draining are of this machine as it is; what share of a core the server takes is by its CPU
seconds, so that what else the machine does hardly matters to it.
"""

from collections.abc import Sequence
from statistics import median

from rich.console import Console

from benchmarks import driving
from benchmarks.noise import Noise
from benchmarks.server_part import streaming
from benchmarks.server_part.serving import Asked, Serving, p99, serving
from benchmarks.server_part.store import KINDS, MESSAGES, QUEUES, RARE_TASK, Kind, fill, queue_name
from benchmarks.table import Table

ROUNDS = 5
#: As ten viewers ask who look twice a second, and how often.
_PACE, _ASKED = 20.0, 300
_SENT = 40_000
_DRAINED = 20_000
_LOOKS = {
    "overview": "/snapshots/overview",
    "queues with rates": "/snapshots/queues",
    "queue list": "/queues?limit=1000",
    "queue list, first page": "/queues",
}
_PAGES = {
    "of one queue": f"/messages?queue={queue_name(500)}",
    "of a pattern": "/messages?queue=client-05*-tasks&task=render",
    "of a task": "/messages?task=render&newest_first=true",
    "of a rare task": f"/messages?task={RARE_TASK}",
    "of no task": "/messages?task=none",
    "of delayed": "/messages?state=delayed&task=index",
    "with a text": "/messages?text=42424",
}


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    noise = Noise()
    for kind in KINDS:
        count = MESSAGES // 10 if quick else MESSAGES
        with kind.empty() as url:
            with console.status(f"{kind.name}: {count:,} messages over {QUEUES:,} queues…"):
                table.figures[f"{kind.name}_filled_per_second"] = count / fill(url, count)
            with console.status(f"{kind.name}: looking at them…"), serving(url) as server:
                _looks(table, kind, server, count)
        with console.status(f"{kind.name}: sending over HTTP…"):
            _sends(table, kind)
        with console.status(f"{kind.name}: {streaming.VIEWERS} viewers…"):
            _streams(table, kind)
        with console.status(f"{kind.name}: drains with viewers and without, interleaved…"):
            _drains(table, kind, 2 if quick else ROUNDS)
    if (others := noise.cores()) is not None:
        table.add("cores used by others meanwhile", others)


def _looks(table: Table, kind: Kind, server: Serving, count: int) -> None:
    of = f"of {count:,} in {QUEUES:,} queues, {kind.name}"
    server.get("/queues")
    table.add(f"idle server {of}, % of a core", server.share(60.0) * 100, "≤", 1.0)
    for name, path in _LOOKS.items():
        _add(table, f"{name} {of}", server.ask(path, _ASKED, _PACE), 50.0)
    for name, path in _PAGES.items():
        _add(table, f"page {name} {of}", server.ask(path, _ASKED // 3, _PACE), 200.0)
    table.add(f"server RSS at most, {of}, MB", server.most_rss_mb(), "≤", 120.0)


def _add(table: Table, name: str, asked: Sequence[Asked], limit: float) -> None:
    """The bar is for the time until the answer; the CPU tells how much of it is the machine's other work."""
    table.add(f"{name}, p99 ms", p99([one.milliseconds for one in asked]), "≤", limit)
    table.add("  the same, median ms", [one.milliseconds for one in asked])
    table.add("  the same, CPU of server and store, p99 ms", p99([one.cpu_milliseconds for one in asked]))
    table.add("  the same, CPU of server and store, median ms", median(one.cpu_milliseconds for one in asked))


def _sends(table: Table, kind: Kind) -> None:
    rates, costs = [], []
    with kind.empty() as url, serving(url) as server:
        table.add(f"idle server, {kind.name}, % of a core", server.share(20.0) * 100, "≤", 1.0)
        for _ in range(ROUNDS):
            cpu = server.cpu()
            sent = driving.last_line(driving.run("benchmarks.server_part.sender", server.url, _SENT))
            rates.append(sent["count"] / sent["seconds"])
            costs.append((server.cpu() - cpu) / sent["count"] * 1e6)
        table.add(f"server RSS at most, sending, {kind.name}, MB", server.most_rss_mb(), "≤", 120.0)
    table.add(f"batch send over HTTP, {kind.name}, messages a second", rates, "≥", 20_000.0)
    table.add("  the same, server CPU a message, µs", costs)


def _streams(table: Table, kind: Kind) -> None:
    found = [streaming.stream(kind, 15.0) for _ in range(3)]
    name = f"{streaming.VIEWERS} viewers at {streaming.PER_SECOND} events/s, {kind.name}"
    table.add(f"{name}, % of a core", [one["share"] * 100 for one in found], "≤", 50.0)
    table.add(f"{name}, server RSS at most, MB", [one["rss_mb"] for one in found], "≤", 120.0)


def _drains(table: Table, kind: Kind, rounds: int) -> None:
    alone, watched = [], []
    for _ in range(rounds):
        alone.append(streaming.drain(kind, _DRAINED, is_watched=False))
        watched.append(streaming.drain(kind, _DRAINED, is_watched=True))
    pairs = list(zip(alone, watched, strict=True))
    name = f"drain with a server and {streaming.FEW_VIEWERS} viewers / without, {kind.name}"
    table.add(name, [one["seconds"] / two["seconds"] for one, two in pairs], "≥", 0.95)
    table.add("  the same, by the worker's CPU", [one["cpu"] / two["cpu"] for one, two in pairs])
    table.add("  the server meanwhile, % of a core", [two["server_cpu"] / two["seconds"] * 100 for two in watched])
