"""The part on monitoring: every claim, in order. Called by `make bench`.

    scrape           CPU and size of one scrape, of a worker with one task and of one with a hundred
    sqlite, valkey   CPU a message of a drain: with nothing configured against nothing counted at all; with Prometheus,
                     and with traces of which one in a hundred is recorded, against nothing configured

What is compared is measured in turns, and the ratio is the median of the rounds' own ratios. A drain lasts some
seconds, so it is scraped ten times as often as Prometheus would.
"""

import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from statistics import median

from rich.console import Console

from benchmarks import driving
from benchmarks.noise import Noise
from benchmarks.redis_part.server import local
from benchmarks.sqlite_part.measure import address
from benchmarks.table import Table
from tenure.monitoring.metrics.bounded import BoundedLabels
from tenure.monitoring.metrics.exposition import render
from tenure.monitoring.metrics.work import work_samples
from tenure.timing.tallied import Series, bucket_of

PIECES = ("scrape", "sqlite", "valkey")
ROUNDS = 5
COUNT = 40_000
#: Prometheus scrapes every 5 s where the bar holds.
SCRAPE_SECONDS = 0.5
ARMS = ("off", "none", "prometheus", "headers", "traced", "recorded")

Place = Callable[[], AbstractContextManager[str]]


def measure(table: Table, console: Console, *, quick: bool, pieces: Sequence[str] = PIECES) -> None:
    """Fill the table."""
    if "scrape" in pieces:
        _scrape(table)
    rounds = 3 if quick else ROUNDS
    noise = Noise()
    if "sqlite" in pieces:
        with console.status("drains on SQLite…"):
            _cost(table, "SQLite", address, rounds)
    if "valkey" in pieces:
        with console.status("drains on Valkey…"), local() as server:

            @contextmanager
            def emptied() -> Iterator[str]:
                server.empty()
                yield server.url

            _cost(table, "Valkey", emptied, rounds)
    if (others := noise.cores()) is not None:
        table.add("cores used by others meanwhile", others)


def _cost(table: Table, name: str, place: Place, rounds: int) -> None:
    arms: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for number in range(rounds):
        for arm in ARMS if number % 2 else reversed(ARMS):
            with place() as url:
                arms[arm].append(_drain(url, arm))

    def ratios(arm: str, base: str) -> list[float]:
        return [one / other for one, other in zip(arms[arm], arms[base], strict=True)]

    table.add(f"{name}: CPU a message, nothing configured / nothing counted", ratios("none", "off"), "≤", 1.02)
    table.add(f"{name}: CPU a message, scraped every {SCRAPE_SECONDS:g} s / nothing configured",
              ratios("prometheus", "none"), "≤", 1.08)  # fmt: skip
    table.add(f"{name}: CPU a message, traced at 1 %, only recorded / nothing configured", ratios("recorded", "none"),
              "≤", 1.05)  # fmt: skip
    table.add("   traced at 1 %, with the context of every trace", ratios("traced", "none"))
    table.add("   the same contexts in the messages, and nothing that follows them", ratios("headers", "none"))
    for arm, rounds_ in arms.items():
        table.figures[f"{name}_{arm}_ns_a_message"] = 1e3 * median(rounds_)


def _drain(url: str, arm: str) -> float:
    """CPU of the worker's process a message, in microseconds."""
    with driving.waiting(url, "benchmarks.monitoring_part.worker", arm, COUNT) as process:
        metrics = "" if process.stdout is None else process.stdout.readline().strip()
        over = threading.Event()
        scraper = threading.Thread(target=_scrape_until, args=(metrics, over))
        if metrics:
            scraper.start()
        answer = driving.last_line(process.communicate()[0])
        over.set()
        if metrics:
            scraper.join()
    return float(answer["cpu_us"])


def _scrape_until(url: str, over: threading.Event) -> None:
    while not over.wait(SCRAPE_SECONDS):
        try:
            with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - our own worker
                response.read()
        except OSError:
            return  # the worker has ended


def _scrape(table: Table) -> None:
    for tasks in (1, 100):
        text = b""
        series = [_series(f"q{number}", f"t{number}") for number in range(tasks)]
        took = []
        for _ in range(20):
            began = time.process_time()
            text = render(work_samples(series, BoundedLabels(100)))
            took.append((time.process_time() - began) * 1e3)
        table.add(f"one scrape of a worker with {tasks} tasks, ms of CPU", took)
        table.figures[f"bytes_of_{tasks}_tasks"] = len(text)


def _series(queue: str, task: str) -> Series:
    one = Series(queue, task, "completed", count=1_000, runs=1_000, seconds=60.0, leased=30_000.0, waited=9.0)
    for number in range(60):
        one.durations[bucket_of(0.001 * 1.1**number)] = one.waits[bucket_of(0.01 * 1.1**number)] = 17
    one.deliveries, one.settled = [990, 10], {"deleted": 1_000}
    return one
