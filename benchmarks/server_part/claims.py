"""The part on the server: every claim on each store, in order. Called by `make bench`.

Rates of sending and draining are of this machine as it is; what share of a core the server takes is by its CPU
seconds, so that what else the machine does hardly matters to it.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from rich.console import Console

from benchmarks import driving
from benchmarks.interval import interval_of
from benchmarks.noise import Noise
from benchmarks.server_part import memory, stacks, streaming
from benchmarks.server_part.serving import Asked, Serving, p99, serving
from benchmarks.server_part.store import KINDS, MESSAGES, QUEUES, RARE_TASK, Kind, fill, queue_name
from benchmarks.table import Table

ROUNDS = 5
#: As ten viewers ask who look twice a second, and how often.
_PACE, _ASKED, _ASKED_PAGES = 20.0, 200, 50
_SENT = 40_000
_DRAINED = 60_000
_IDLE_SECONDS, _EMPTY_SECONDS, _STREAM_SECONDS = 30.0, 10.0, 10.0
#: `python -m benchmarks.server_part.memory` takes ten minutes.
_TRAFFIC_SECONDS = 40.0
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


class Size(NamedTuple):
    """How much is measured."""

    messages: int
    #: Pairs of drains: what a few per cent are told by.
    pairs: int


def _filled(table: Table, kind: Kind, size: Size) -> None:
    count = size.messages
    with kind.empty() as url:
        table.figures[f"{kind.name}_filled_per_second"] = count / fill(url, count)
        with serving(url) as server:
            _looks(table, kind, server, count)


def _looks(table: Table, kind: Kind, server: Serving, count: int) -> None:
    of = f"of {count:,} in {QUEUES:,} queues, {kind.name}"
    server.get("/queues")
    table.add(f"idle server {of}, % of a core", server.share(_IDLE_SECONDS) * 100, "≤", 1.0)
    for name, path in _LOOKS.items():
        _add(table, f"{name} {of}", server.ask(path, _ASKED, _PACE), 50.0)
    for name, path in _PAGES.items():
        _add(table, f"page {name} {of}", server.ask(path, _ASKED_PAGES, _PACE), 200.0)
    table.add(f"server RSS at most, {of}, MB", server.most_rss_mb(), "≤", 120.0)


def _add(table: Table, name: str, asked: Sequence[Asked], limit: float) -> None:
    """The bar is for the time until the answer; the rest tells how much of it is the machine's other work."""
    table.add(f"{name}, p99 ms", p99([one.milliseconds for one in asked]), "≤", limit)
    table.add("  the same, median ms", [one.milliseconds for one in asked])
    table.add("  the same, without waiting for a core, p99 ms", p99([one.on_idle_machine for one in asked]))
    table.add("  the same, CPU of server and store, p99 ms", p99([one.cpu_milliseconds for one in asked]))
    table.add("  the same, CPU of server and store, median ms", median(one.cpu_milliseconds for one in asked))


def _sends(table: Table, kind: Kind, _: Size) -> None:
    rates, costs = [], []
    with kind.empty() as url, serving(url) as server:
        table.add(f"idle server, {kind.name}, % of a core", server.share(_EMPTY_SECONDS) * 100, "≤", 1.0)
        for _round in range(ROUNDS):
            cpu = server.cpu()
            sent = driving.last_line(driving.run("benchmarks.server_part.sender", server.url, _SENT))
            rates.append(sent["count"] / sent["seconds"])
            costs.append((server.cpu() - cpu) / sent["count"] * 1e6)
        table.add(f"server RSS at most, sending, {kind.name}, MB", server.most_rss_mb(), "≤", 120.0)
    table.add(f"batch send over HTTP, {kind.name}, messages a second", rates, "≥", 20_000.0)
    table.add("  the same, server CPU a message, µs", costs)


def _streams(table: Table, kind: Kind, _: Size) -> None:
    found = [streaming.stream(kind, _STREAM_SECONDS) for _round in range(2)]
    name = f"{streaming.VIEWERS} viewers at {streaming.PER_SECOND} events/s, {kind.name}"
    table.add(f"{name}, % of a core", [one["share"] * 100 for one in found], "≤", 50.0)
    table.add(f"{name}, server RSS at most, MB", [one["rss_mb"] for one in found], "≤", 120.0)


def _tails(table: Table, kind: Kind, _: Size) -> None:
    found = [streaming.tail(kind, _STREAM_SECONDS) for _round in range(2)]
    name = f"{streaming.FEW_VIEWERS} viewers while {streaming.COMPLETED_PER_SECOND:,} messages/s complete, {kind.name}"
    table.add(f"{name}, % of a core", [one["share"] * 100 for one in found], "≤", 50.0)
    table.add("  completed messages noted a second", [one["appended_per_second"] for one in found])
    table.add("  of these shown a second", [one["shown_per_second"] for one in found])


def _drains(table: Table, kind: Kind, size: Size) -> None:
    alone: list[dict[str, float]] = []
    watched: list[dict[str, float]] = []
    for number in range(size.pairs):
        # Which comes first alternates: what warms up or wears out in a round must not count for one of them.
        for is_watched in (number % 2 == 1, number % 2 == 0):
            (watched if is_watched else alone).append(streaming.drain(kind, _DRAINED, is_watched=is_watched))
    pairs = list(zip(alone, watched, strict=True))
    name = f"drain with a server and {streaming.FEW_VIEWERS} viewers / without, {kind.name}"
    table.add_interval(name, interval_of(pairs, lambda some: _ratio(some, "seconds")), "≥", 0.95)
    table.add_interval("  the same, by the worker's CPU", interval_of(pairs, lambda some: _ratio(some, "cpu")))
    table.add("  the server meanwhile, % of a core", [two["server_cpu"] / two["seconds"] * 100 for two in watched])


def _ratio(pairs: Sequence[tuple[dict[str, float], dict[str, float]]], name: str) -> float:
    """What all drains without took, to what all drains with a server took."""
    return sum(alone[name] for alone, _ in pairs) / sum(watched[name] for _, watched in pairs)


def _stacks(table: Table, kind: Kind, _: Size) -> None:
    found = stacks.answered(kind)
    table.add(f"a live stack is answered, {kind.name}, s at most", max(found), "≤", 2.0)
    table.add("  the same, median", found)


def _memory(table: Table, kind: Kind, _: Size) -> None:
    curve = memory.under_traffic(kind, _TRAFFIC_SECONDS)
    table.add(f"memory grown under mixed traffic, {kind.name}, MB", curve.grown_mb, "≤", memory.MOST_GROWN_MB)
    table.add("  the same, requests and streams", float(curve.requests + curve.streams))


#: By the name under which each can be measured alone.
_SECTIONS: dict[str, tuple[str, Callable[[Table, Kind, Size], None]]] = {
    "look": ("looking at a full store", _filled),
    "send": ("sending over HTTP", _sends),
    "stream": (f"{streaming.VIEWERS} viewers", _streams),
    "tail": ("following what completes", _tails),
    "stack": ("asking for stacks", _stacks),
    "drain": ("drains with viewers and without, interleaved", _drains),
    "memory": ("mixed traffic", _memory),
}
#: As `server:send` and `server:send-redis`.
PIECES = tuple(f"{name}{store}" for name in _SECTIONS for store in ("", *(f"-{kind.name.lower()}" for kind in KINDS)))


def measure(table: Table, console: Console, *, quick: bool, pieces: Sequence[str] = PIECES) -> None:
    """Fill the table. A section that breaks off is told at once, and ends the run when the others are done."""
    noise = Noise()
    size = Size(MESSAGES // 10, 2) if quick else Size(MESSAGES, 16)
    broken: list[Exception] = []
    for kind in KINDS:
        for name, (title, section) in _SECTIONS.items():
            if not {name, f"{name}-{kind.name.lower()}"} & set(pieces):
                continue
            seen, began = len(table.rows), time.perf_counter()
            with console.status(f"{kind.name}: {title}…"):
                try:
                    section(table, kind, size)
                except Exception as error:  # noqa: BLE001 - whatever it is, the other sections are measured
                    console.print(f"{kind.name}: {title} broke off: {type(error).__name__}: {error}")
                    broken.append(error)
            console.print(f"{kind.name}: {title}, {time.perf_counter() - began:.0f} s")
            for row in table.rows[seen:]:
                if row.bar is not None:
                    console.print(f"  {row.measure}: {row.value:,.4g} ({row.bar}) {row.verdict}")
    if (others := noise.cores()) is not None:
        table.add("cores used by others meanwhile", others)
    if broken:
        table.print(console)
        raise broken[0]
