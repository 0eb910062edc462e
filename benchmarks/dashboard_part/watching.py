"""Watching: what the leases page works while 10,000 leases count down, and what the events page keeps in memory."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from playwright.sync_api import Browser

from benchmarks.dashboard_part.page import measured
from tenure import Tenure
from tenure.event import Event, EventKind
from tenure.message import new_id

LEASES, PER_SECOND = 10_000, 100
_SETTLE_SECONDS = 5.0
#: The heap is looked at so often; the list of events is full long before the first look.
_LOOK_SECONDS = 15.0


def ticking(browser: Browser, url: str, seconds: float) -> float:
    """The share of a core that the page's main thread takes, with every lease shown and counting down."""
    with measured(browser) as page:
        page.page.goto(f"{url}/leases")
        page.page.wait_for_selector(f'table[aria-rowcount="{LEASES + 2}"]')
        time.sleep(_SETTLE_SECONDS)
        worked = page.worked_seconds()
        time.sleep(seconds)
        return (page.worked_seconds() - worked) / seconds


def heap(browser: Browser, url: str, store: str, seconds: float) -> list[float]:
    """The heap after each look, MB, while events come and are shown."""
    with measured(browser) as page, _events(store):
        page.page.goto(f"{url}/events")
        page.page.wait_for_selector("table")
        ends = time.perf_counter() + seconds
        found = []
        while time.perf_counter() < ends:
            time.sleep(_LOOK_SECONDS)
            found.append(page.heap_mb())
        return found


@contextmanager
def _events(store: str) -> Iterator[None]:
    """So many events a second, one at a time, from a thread."""
    over = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_append(store, over)))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def _append(store: str, over: threading.Event) -> None:
    async with Tenure(store) as app:
        began, count = time.perf_counter(), 0
        while not over.is_set():
            due = int((time.perf_counter() - began) * PER_SECOND) - count
            for _ in range(due):
                event = Event(
                    EventKind.RETRIED, time.time(), "default-tasks", "deliver", new_id(time.time()), "worker-1/4f2a",
                    2, 0.31, {"error": "TimeoutError", "delay_seconds": 4.0},
                )  # fmt: skip
                await app.state.journal.append([event])
            count += due
            await asyncio.sleep(0.02)


def growth(looks: list[float]) -> float:
    """The last third of the looks over the second, less 1."""
    third = len(looks) // 3
    return median(looks[-third:]) / median(looks[third : 2 * third]) - 1
