"""Streams: what many viewers of many events cost the server; and what viewers cost the workers."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import driving
from benchmarks.server_part.serving import Serving, serving
from benchmarks.server_part.store import Kind
from tenure import Tenure
from tenure.event import Event, EventKind
from tenure.message import new_id

VIEWERS, PER_SECOND = 200, 100
#: Those who look while workers work.
FEW_VIEWERS = 10
_SETTLE_SECONDS = 2.0
#: What the fastest worker completes.
COMPLETED_PER_SECOND, _APPENDED_AT_ONCE = 30_000, 1_000


@contextmanager
def _viewers(server: Serving, count: int, *more: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "benchmarks.server_part.viewers", server.url, str(count), *more]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            msg = "the viewers did not start"
            raise RuntimeError(msg)
        yield process
        if process.poll() is None:
            process.communicate()


def stream(kind: Kind, seconds: float) -> dict[str, float]:
    """The share of a core that the server takes for 200 viewers of 100 events a second, each of whom gets all."""
    with kind.empty() as url, serving(url) as server, _viewers(server, VIEWERS) as viewers:
        time.sleep(_SETTLE_SECONDS)
        cpu, began = server.cpu(), time.perf_counter()
        appended = asyncio.run(_append(url, seconds))
        share = (server.cpu() - cpu) / (time.perf_counter() - began)
        time.sleep(_SETTLE_SECONDS)
        told = driving.last_line(viewers.communicate()[0])
        rss = server.most_rss_mb()
    if told["fewest"] != appended or told["most"] != appended:
        msg = f"{appended} events were appended, and a viewer got {told['fewest']} to {told['most']}"
        raise RuntimeError(msg)
    return {"share": share, "rss_mb": rss, "per_second": appended / seconds}


async def _append(url: str, seconds: float) -> int:
    """One event at a time, at the pace; how many."""
    async with Tenure(url) as app:
        began, count = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds:
            due = int(passed * PER_SECOND) - count
            for _ in range(due):
                data = {"error": "TimeoutError", "delay_seconds": 4.0}
                event = Event(
                    EventKind.RETRIED, time.time(), "default-tasks", "deliver", new_id(time.time()), "worker-1/4f2a",
                    2, 0.31, data,
                )  # fmt: skip
                await app.state.journal.append([event])
            count += due
            await asyncio.sleep(0.5 / PER_SECOND)
        return count


def tail(kind: Kind, seconds: float) -> dict[str, float]:
    """The share of a core that it takes to follow a journal of 30,000 completed messages a second.

    One viewer asks for completed messages too, nine for the others. What the viewer is sent is few enough to be read.
    """
    with (
        kind.empty() as url, serving(url) as server, _viewers(server, FEW_VIEWERS - 1),
        _viewers(server, 1, "completed") as reader,
    ):  # fmt: skip
        time.sleep(_SETTLE_SECONDS)
        cpu, began = server.cpu(), time.perf_counter()
        appended = asyncio.run(_append_completed(url, seconds))
        passed = time.perf_counter() - began
        share = (server.cpu() - cpu) / passed
        time.sleep(_SETTLE_SECONDS)
        told = driving.last_line(reader.communicate()[0])
    if told["completed"] + told["skipped"] != appended:
        msg = f"{appended} messages were completed, and the viewer was told of {told['completed']} + {told['skipped']}"
        raise RuntimeError(msg)
    return {"share": share, "appended_per_second": appended / passed, "shown_per_second": told["completed"] / passed}


async def _append_completed(url: str, seconds: float) -> int:
    """Completed messages as a worker notes them, a batch each 50 ms; how many."""
    async with Tenure(url) as app:
        began, count = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds:
            wall = time.time()
            due = min(int(passed * COMPLETED_PER_SECOND) - count, COMPLETED_PER_SECOND)
            events = [
                Event(EventKind.COMPLETED, wall, "default-tasks", "noop", new_id(wall), "worker-1/4f2a", 1, 0.001)
                for _ in range(due)
            ]
            for start in range(0, len(events), _APPENDED_AT_ONCE):
                await app.state.journal.append(events[start : start + _APPENDED_AT_ONCE])
            count += due
            await asyncio.sleep(0.05)
        return count


def drain(kind: Kind, count: int, *, is_watched: bool) -> dict[str, Any]:
    """One worker process empties a backlog: alone, or beside a server with ten viewers of everything."""
    with kind.empty() as url:
        driving.load(url, count)
        if not is_watched:
            return driving.run_worker(url, "drain", count)
        with serving(url) as server, _viewers(server, FEW_VIEWERS, "overview"):
            time.sleep(_SETTLE_SECONDS)
            cpu = server.cpu()
            answer = driving.run_worker(url, "drain", count)
            return answer | {"server_cpu": server.cpu() - cpu}
