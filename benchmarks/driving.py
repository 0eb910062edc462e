"""Driving: the app under measurement, at any place that has a URL. Used by the parts.

Workers and senders are processes of their own, as they are in life; what a worker process does is in `worker_main.py`.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

#: Messages a second, where latency is measured.
PACE = 50.0


def environment(url: str) -> dict[str, str]:
    """Names the place to a worker process."""
    return {**os.environ, "TENURE_BENCH_URL": url}


def run_worker(url: str, *args: object) -> dict[str, Any]:
    """What `worker_main` says at its end."""
    return last_line(run("benchmarks.worker_main", *args, env=environment(url)))


def run(module: str, *args: object, env: dict[str, str] | None = None) -> str:
    """What a module says as a process of its own."""
    command = [sys.executable, "-m", module, *map(str, args)]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def last_line(out: str) -> dict[str, Any]:
    """The answer of a process: one line of JSON, behind all else."""
    answer: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answer


@contextmanager
def waiting_worker(url: str, *args: object) -> Iterator["subprocess.Popen[str]"]:
    """A worker process that has said that it is ready."""
    with waiting(url, "benchmarks.worker_main", *args) as process:
        yield process


@contextmanager
def waiting(url: str, module: str, *args: object) -> Iterator["subprocess.Popen[str]"]:
    """Likewise, of another module."""
    command = [sys.executable, "-m", module, *map(str, args)]
    with subprocess.Popen(command, env=environment(url), stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            msg = "the worker did not start"
            raise RuntimeError(msg)
        yield process


def load(url: str, count: int, *, task: str = "noop", argument: float = 1) -> float:
    """Put `count` messages in through the front door, in batches of 1,000; seconds."""

    async def main() -> float:
        app = Tenure(url)

        @app.task(name="noop")
        async def noop(n: int) -> None: ...

        @app.task(name="nap")
        async def nap(seconds: float) -> None: ...

        bind = noop.bind if task == "noop" else nap.bind
        async with app:
            start = time.perf_counter()
            for _ in range(0, count, 1000):
                await app.submit_many([bind(argument) for _ in range(1000)])  # type: ignore[arg-type]
            return time.perf_counter() - start

    return asyncio.run(main())


def latency(url: str, seconds: float) -> dict[str, float]:
    """50 messages a second from this process to a worker process: submit to handler start, in milliseconds."""
    with waiting_worker(url, "wait", seconds + 2) as process:
        asyncio.run(_send_at_pace(url, seconds))
        answer = last_line(process.communicate()[0])
    return quantiles(answer["latencies"])


def quantiles(latencies: list[float]) -> dict[str, float]:
    """Of seconds, in milliseconds."""
    found = sorted(latencies)
    return {
        "count": len(found),
        "p50_ms": found[len(found) // 2] * 1e3,
        "p99_ms": found[int(len(found) * 0.99)] * 1e3,
        "max_ms": found[-1] * 1e3,
    }


def idle(url: str, seconds: float) -> float:
    """Share of one core that a worker with nothing to do takes."""
    with waiting_worker(url, "wait", seconds) as process:
        return float(last_line(process.communicate()[0])["cpu_share"])


async def _send_at_pace(url: str, seconds: float) -> None:
    async with Tenure(url) as app:
        await asyncio.sleep(1.0)
        start = time.monotonic()
        for number in range(int(seconds * PACE)):
            await asyncio.sleep(max(0.0, start + number / PACE - time.monotonic()))
            now = time.monotonic()
            body = msgspec.Raw(msgspec.json.encode({"sent": now}))
            wall = time.time()
            await app.send([Outgoing(Message(id=new_id(wall), queue=app.queue, task="stamp", body=body, sent_at=wall))])
