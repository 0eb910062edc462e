"""What the parts on clouds have in common: processes under measurement, counts a message, ratios of CPU, dollars.

Wall-clock time says nothing here: the servers are stand-ins on this machine. Requests and CPU of the worker do.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from redis import Redis
from tests.servers import start_redis

from benchmarks import driving
from benchmarks.table import Table
from tenure.simulation import prices

MILLION = 1_000_000
#: Seconds in a month.
MONTH = 30 * 86_400
#: Handlers of a worker at load: more than a batch of any kind.
CONCURRENCY = 100


def ask(url: str, module: str, *words: object) -> dict[str, Any]:
    """What a process says at its end."""
    command = [sys.executable, "-m", module, *map(str, words)]
    run = subprocess.run(command, env=driving.environment(url), check=False, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{module} {words[:1]}: {run.stderr[-2000:]}")
    return driving.last_line(run.stdout)


def worker(url: str, *words: object) -> dict[str, Any]:
    """A process of Tenure's."""
    return ask(url, "benchmarks.cloud_worker", *words)


def each(answer: Mapping[str, Any], *names: str) -> dict[str, float]:
    """Calls a message; of some names, or of all."""
    calls: dict[str, float] = answer["calls"]
    return {name: calls.get(name, 0.0) / answer["count"] for name in names or calls}


def passed(url: str, count: int) -> dict[str, float]:
    """Calls a message, from `submit_many` to the end of its run."""
    sent = each(worker(url, "send", count, "counted"))
    drained = each(worker(url, "drain", count, CONCURRENCY, "counted"))
    return {name: sent.get(name, 0.0) + drained.get(name, 0.0) for name in {*sent, *drained}}


def cpu(
    table: Table, url: str, bare: Callable[[], dict[str, Any]], *, count: int, rounds: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Worker and yardstick in turns, on the same messages; the bar is on the median of the rounds' ratios."""
    drained, bared = list[dict[str, Any]](), list[dict[str, Any]]()
    for _ in range(rounds):
        worker(url, "send", count)
        drained.append(worker(url, "drain", count, CONCURRENCY))
        worker(url, "send", count)
        bared.append(bare())
    ratios = [_us(one) / _us(two) for one, two in zip(drained, bared, strict=True)]
    table.add("worker CPU a message / bare SDK loop with the same calls", ratios, "≤", 1.3)
    table.add("worker CPU a message, µs", [_us(one) for one in drained])
    table.add("bare SDK loop, CPU a message, µs", [_us(one) for one in bared])
    return drained, bared


def _us(answer: Mapping[str, Any]) -> float:
    return float(answer["cpu"]) / float(answer["count"]) * 1e6


def price(table: Table, state: str, counts: Mapping[str, float], *lists: Mapping[str, prices.Price]) -> None:
    """A line of cost: what a million messages cost, from `submit_many` to the end of their runs."""
    cost = sum(prices.dollars(counts, one) for one in lists) * MILLION
    table.add(f"dollars for a million messages, state in {state}", cost)


def elsewhere(
    table: Table, place: Callable[[str, str], str], lists: Sequence[Mapping[str, prices.Price]], count: int
) -> None:
    """The state in a file, and in a Redis: `place` gives the URL for a prefix and a state."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".bench-") as folder:
        price(table, "a file (one machine)", passed(place("local", f"sqlite:///{folder}/state.db"), count), *lists)
        server = start_redis("valkey9", Path(folder))
        try:
            client = Redis(port=server.port)
            before = _commands(client)
            counts = passed(place("redis", server.url), count)
            table.add("Redis commands a message", (_commands(client) - before) / count)
            price(table, "Redis (and its machine)", counts, *lists)
        finally:
            server.kill()


def _commands(client: Redis) -> int:
    info: Any = client.info("stats")
    return int(info["total_commands_processed"])


def viewing(
    table: Table, place: Callable[[str], str], seconds: float, lists: Sequence[Mapping[str, prices.Price]]
) -> None:
    """What a dashboard costs that is open: `place` gives the URL for a prefix."""
    for queues in (1, 20):
        answer = worker(place(f"view{queues}"), "view", seconds, queues, "counted")
        calls = {name: count / answer["seconds"] for name, count in answer["calls"].items()}
        cost = sum(prices.dollars(calls, one) for one in lists) * MONTH
        table.add(f"open dashboard, {queues} queues, dollars a month", cost)


def idle(table: Table, url: str, seconds: float, lists: Sequence[Mapping[str, prices.Price]]) -> None:
    """What a worker costs that has nothing to do."""
    answer = worker(url, "idle", seconds, "counted")
    calls = {name: count / answer["seconds"] for name, count in answer["calls"].items()}
    table.add("idle worker, dollars a month", sum(prices.dollars(calls, one) for one in lists) * MONTH)
