"""A store such as people look at: queues with a backlog, a worker that holds leases, dead letters, figures."""

import asyncio
import gzip
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec

from benchmarks import driving
from benchmarks.server_part.serving import Serving, serving
from benchmarks.sqlite_part.measure import address
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

#: As many messages as the bars speak of; queues; what is tried before anybody looks; what is held meanwhile.
MESSAGES, QUEUES, TRIED, HELD = 100_000, 12, 2_000, 40
_AT_ONCE = 1_000
_SOON_SECONDS = 60.0


@contextmanager
def shown(held: int = HELD) -> Iterator[tuple[str, Serving]]:
    """The store's URL, and a server on it; a worker holds so many leases."""
    with address() as url:
        # The browser has this thread's event loop.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _send(url, held)).result()
        with _working(url, held), serving(url) as server:
            _wait_until(server, "the leases are held", lambda found: found["total"]["running"] == held)
            yield url, server


async def _send(url: str, held: int) -> None:
    """What is run at once, then the backlog, which no worker here serves."""
    async with Tenure(url) as app:
        work = ["hold"] * held + ["deliver" if number % 10 else "refuse" for number in range(TRIED)]
        for start in range(0, len(work), _AT_ONCE):
            await app.broker.send([_outgoing(task, "work", 0) for task in work[start : start + _AT_ONCE]])
        for start in range(0, MESSAGES, _AT_ONCE):
            some = range(start, start + _AT_ONCE)
            await app.broker.send([_outgoing("deliver", f"client-{number % QUEUES:02d}", number) for number in some])


def _outgoing(task: str, client: str, number: int) -> Outgoing:
    wall = time.time()
    body = msgspec.Raw(b'{"order":%d}' % number)
    message = Message(id=new_id(wall), queue=f"{client}-tasks", task=task, body=body, client=client, sent_at=wall)
    return Outgoing(message)


@contextmanager
def _working(url: str, held: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tenure", "worker", "benchmarks.dashboard_part.jobs:app", "--queue", "work-tasks",
               "--concurrency", str(min(10_000, held + 10)), "--grace", "0s"]  # fmt: skip
    with subprocess.Popen(command, env=driving.environment(url), stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def _wait_until(server: Serving, what: str, holds: Callable[[Any], bool]) -> None:
    ends = time.perf_counter() + _SOON_SECONDS
    while not holds(msgspec.json.decode(gzip.decompress(server.get("/snapshots/overview")))):
        if time.perf_counter() > ends:
            msg = f"after {_SOON_SECONDS:g} s it is still not so that {what}"
            raise RuntimeError(msg)
        time.sleep(0.2)
