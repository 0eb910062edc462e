"""The part on webhooks: every claim, in order. Called by `make bench`.

    announce   drains against one with no announcer at all: beside an announcer, with messages that do not ask; with
               messages that ask, announced by nobody; and with an announcer that forgets what it reads
    deliver    deliveries a second of one process to a receiver on loopback
    beside     how long a delivery to a healthy receiver takes beside one that never answers

What is compared is measured in turns, and the ratio is the median of the rounds' own ratios.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from statistics import median

from rich.console import Console

from benchmarks.noise import Noise
from benchmarks.redis_part.server import local
from benchmarks.sqlite_part.measure import address
from benchmarks.table import Table
from benchmarks.webhooks_part import measure as take

PIECES = ("announce", "deliver", "beside")
ROUNDS = 7
COUNT = 30_000
DELIVERED = 5_000
PACE_SECONDS, PACE_ROUNDS = 20.0, 3

Place = Callable[[], AbstractContextManager[str]]


def measure(table: Table, console: Console, *, quick: bool, pieces: Sequence[str] = PIECES) -> None:
    """Fill the table."""
    with local() as server:

        @contextmanager
        def emptied() -> Iterator[str]:
            server.empty()
            yield server.url

        places: dict[str, Place] = {"SQLite": address, "Valkey": emptied}
        noise = Noise(server.cpu)
        for piece, act in (("announce", _announce), ("deliver", _deliver), ("beside", _beside)):
            if piece in pieces:
                for name, place in places.items():
                    with console.status(f"{piece} on {name}…"):
                        act(table, name, place, quick=quick)
        if (others := noise.cores()) is not None:
            table.add("cores used by others meanwhile", others)
    table.figures["load average at the end"] = os.getloadavg()[0]


def _announce(table: Table, name: str, place: Place, *, quick: bool) -> None:
    arms: dict[str, list[dict[str, float]]] = {"alone": [], "none": [], "kept": [], "all": []}
    for number in range(3 if quick else ROUNDS):
        for arm in (*arms,) if number % 2 else reversed((*arms,)):
            with place() as url:
                arms[arm].append(take.drain(url, COUNT, arm))

    def ratios(arm: str, what: str = "rate") -> list[float]:
        return [one[what] / without["rate"] for one, without in zip(arms[arm], arms["alone"], strict=True)]

    table.add(f"{name}: drain with every message announced / without", ratios("all"), "≥", 0.8)
    table.add("   the same, but announced by nobody: what writing alone costs", ratios("kept"))
    table.add("   every message announced, until all of it is forgotten", ratios("all", "forgotten_rate"))
    for arm, rounds in arms.items():
        table.figures[f"{name}_{arm}_cpu_ns_a_message"] = 1e3 * median(one["cpu_us"] for one in rounds)
    table.add(f"{name}: drain beside an announcer, nothing announced / without", ratios("none"), "≥", 0.95)


def _deliver(table: Table, name: str, place: Place, *, quick: bool) -> None:
    rates = []
    for _ in range(1 if quick else 3):
        with place() as url:
            rates.append(take.deliver(url, DELIVERED))
    table.add(f"{name}: deliveries a second of one process", rates, "≥", 1_000.0)


def _beside(table: Table, name: str, place: Place, *, quick: bool) -> None:
    healthy: list[float] = []
    beside: list[float] = []
    for _ in range(1 if quick else PACE_ROUNDS):
        for found, is_beside in ((healthy, False), (beside, True)):
            with place() as url:
                found.append(take.p99_ms(url, PACE_SECONDS, beside_dead=is_beside))
    table.add(f"{name}: p99 from ending to arrival, ms", healthy)
    both = zip(beside, healthy, strict=True)
    table.add(f"{name}: the same beside an endpoint that never answers / alone", [b / a for b, a in both], "≤", 1.2)
