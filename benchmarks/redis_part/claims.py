"""The part on Redis: every claim, in order. Called by `make bench`.

Whatever is compared is measured in turns, and the ratio is the median of the rounds' own ratios: what else the machine
does meanwhile hits both sides of a round alike.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

from rich.console import Console

from benchmarks import driving
from benchmarks.kinds_worker import KINDS
from benchmarks.noise import Noise
from benchmarks.redis_part import bare_pace, draining, holding, looking, queues
from benchmarks.redis_part.server import Local, local
from benchmarks.table import Table

T = TypeVar("T")

ROUNDS = 7
COUNT = 40_000
LARGE = 1_000_000


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with local() as server:
        noise = Noise(server.cpu)
        with console.status("bare loops, sends and drains, interleaved…"):
            _speed(table, server)
        with console.status("one process and two, interleaved…"):
            _processes(table, server)
        with console.status("messages with a key, a delay, a hand-off, in a thread…"):
            _kinds(table, server)
        if (others := noise.cores()) is not None:
            table.add("cores used by others meanwhile", others)
        with console.status("latency, idle, naps…"):
            _pace(table, server)
        with console.status("sweep of 100,000…"):
            swept = holding.sweep(server, 100_000)
            table.add(f"sweep of {swept['count']:,} overdue leases, s", swept["seconds"], "≤", 10.0)
        with console.status("looking at much…"):
            looking.measure(table, server, quick=quick)
        with console.status("a thousand queues…"):
            _queues(table, server)
        if quick:
            return
        with console.status("10,000 messages held for two minutes…"):
            _hold(table, server)
        with console.status("backlog of a million…"):
            _backlog(table, server)


def _in_turns(rounds: int, *acts: Callable[[], T]) -> list[list[T]]:
    """What each act answered, in all rounds."""
    answers: list[list[T]] = [[] for _ in acts]
    for _ in range(rounds):
        for own, act in zip(answers, acts, strict=True):
            own.append(act())
    return answers


def _ratios(over: Sequence[dict[str, Any]], under: Sequence[dict[str, Any]], name: str, other: str = "") -> list[float]:
    return [one[name] / two[other or name] for one, two in zip(over, under, strict=True)]


def _speed(table: Table, server: Local) -> None:
    bare, bulk, drained = _in_turns(
        ROUNDS,
        lambda: draining.bare(server, COUNT),
        lambda: draining.bulk(server, COUNT),
        lambda: draining.drain(server, COUNT),
    )
    single = [draining.single(server, 1500) for _ in range(ROUNDS)]
    table.add("no-op drain / bare loop", _ratios(drained, bare, "rate"), "≥", 0.50 if find_spec("uvloop") else 0.42)
    table.add("no-op drain, messages a second", [run["rate"] for run in drained])
    table.add("worker CPU a message, µs", [run["cpu_us"] for run in drained], "≤", 35.0)
    table.add("Redis CPU a message, µs", [run["redis_us"] for run in drained], "≤", 12.0)
    table.add("CPU of bare loop / of worker", _ratios(bare, drained, "cpu_us"))
    table.add("CPU of Redis under bare loop / under worker", _ratios(bare, drained, "redis_us"))
    # Made messages against made bodies; and what `submit` and `submit_many` add, from arguments to handles.
    table.add("bulk send, messages a second", [run["raw_rate"] for run in bulk], "≥", 100_000.0)
    table.add("bulk send / pipelined XADDs", _ratios(bulk, bare, "raw_rate", "send_rate"), "≥", 1.5)
    table.either(2)
    table.add("submit_many / pipelined XADDs", _ratios(bulk, bare, "rate", "send_rate"))
    table.add("sends one by one / XADDs one by one", [run["xadd_us"] / run["send_us"] for run in single], "≥", 0.7)
    table.add("submits one by one / XADDs one by one", [run["xadd_us"] / run["submit_us"] for run in single])
    table.figures |= {
        "bare_drain_per_second": median(run["rate"] for run in bare),
        "bare_drain_cpu_us": median(run["cpu_us"] for run in bare),
        "bare_drain_redis_us": median(run["redis_us"] for run in bare),
        "pipelined_xadds_per_second": median(run["send_rate"] for run in bare),
        "submit_many_per_second": median(run["rate"] for run in bulk),
        "bulk_send_cpu_us": median(run["raw_us"] for run in bulk),
        "submit_many_cpu_us": median(run["cpu_us"] for run in bulk),
        **{f"one_{name}": median(run[name] for run in single) for name in ("xadd_us", "submit_us", "send_us")},
    }


def _processes(table: Table, server: Local) -> None:
    one, two = _in_turns(5, lambda: draining.share(server, 60_000, 1), lambda: draining.share(server, 60_000, 2))
    table.add("two processes / one", _ratios(two, one, "rate"), "≥", 1.3)
    table.add("CPU a message of two processes / of one", _ratios(two, one, "cpu_us"), "≤", 1.15)
    table.figures |= {
        "one_process_per_second": median(run["rate"] for run in one),
        "two_processes_per_second": median(run["rate"] for run in two),
    }


def _kinds(table: Table, server: Local) -> None:
    """What a kind of message adds, to worker and server. A hand-off is compared with two plain messages."""
    rounds = [{kind: draining.kind_cpu(server, kind, COUNT // 4) for kind in KINDS} for _ in range(5)]
    for kind, limit in (("key", 27.5), ("delay", None), ("handoff", None), ("def", None)):
        plain = 2 if kind == "handoff" else 1
        added = [run[kind] - plain * run["plain"] for run in rounds]
        name = f"CPU that {kind} adds, worker and Redis, µs"
        if limit is None:
            table.add(name, median(added))
        else:
            table.add(name, added, "≤", limit)


def _pace(table: Table, server: Local) -> None:
    server.empty()
    late, bare = _in_turns(3, lambda: driving.latency(server.url, 20), lambda: bare_pace.latency(server, 20))
    table.add("submit to handler, p50 ms", [run["p50_ms"] for run in late], "≤", 2.0)
    table.add("submit to handler, p50 / bare stream's", _ratios(late, bare, "p50_ms"), "≤", 1.5)
    table.add("submit to handler, p99 ms", [run["p99_ms"] for run in late], "≤", 10.0)
    table.add("idle worker, % of a core", driving.idle(server.url, 20) * 100, "≤", 1.0)
    naps = [draining.naps(server, 2000, 0.05, 200) for _ in range(ROUNDS)]
    table.add("ideal time / 2,000 naps of 50 ms at 200", naps, "≥", 0.85)


def _queues(table: Table, server: Local) -> None:
    paced = [queues.pace(server, 1000, 20.0) for _ in range(3)]
    table.add("1,000 queues at 50/s, Redis, % of a core", [run["redis"] * 100 for run in paced], "≤", 8.0)
    table.add("1,000 queues at 50/s, submit to handler, p99 ms", [run["p99_ms"] for run in paced], "≤", 10.0)
    table.add("1,000 queues at 50/s, worker, % of a core", [run["worker"] * 100 for run in paced])
    one, forty, single = _in_turns(
        5,
        lambda: queues.drain(server, 1, COUNT),
        lambda: queues.drain(server, 1000, 40),
        lambda: queues.drain(server, 4000, 1),
    )
    table.add("drain of 1,000 queues with 40 each / of one queue", _ratios(forty, one, "rate"), "≥", 0.8)
    table.add("drain of queues with 1 each / of one queue", _ratios(single, one, "rate"), "≥", 0.4)
    found = queues.find(server, 1000, 50)
    table.add("get one of 1,000 queues, with a hint, ms", found["with_ms"])
    table.add("get one of 1,000 queues, without, ms", found["without_ms"])


def _hold(table: Table, server: Local) -> None:
    held = holding.hold(server, 10_000, 120.0)
    table.add(f"heartbeats of {held['held']:,}, worker, % of a core", held["worker"] * 100, "≤", 2.0)
    table.add(f"heartbeats of {held['held']:,}, Redis, % of a core", held["redis"] * 100)


def _backlog(table: Table, server: Local) -> None:
    """The rate in each twentieth of the backlog, against that of small ones before and after."""
    before = [draining.drain(server, COUNT) for _ in range(3)]
    large = draining.drain(server, LARGE)
    small = [*before, *[draining.drain(server, COUNT) for _ in range(3)]]
    looks = large["looks"]
    rates = [(two[0] - one[0]) / (two[1] - one[1]) for one, two in pairwise(looks) if two[0] > one[0]]
    usual = median(run["rate"] for run in small)
    table.add("drain of 1,000,000 / of 40,000", [rate / usual for rate in rates], "≥", 0.95)
    table.add("worker CPU a message, of 1,000,000, µs", large["cpu_us"])
    table.add("Redis CPU a message, of 1,000,000, µs", large["redis_us"])
    table.add("worker RSS after 1,000,000, MB", large["rss_mb"], "≤", 80.0)
    table.add("RSS growth from 100,000 to 1,000,000, MB", looks[-1][3] - looks[1][3], "≤", 5.0)
    table.figures["redis_memory_after_million_mb"] = server.memory_mb()
