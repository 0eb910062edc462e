"""The measurements, each in a fresh database; whoever calls interleaves and repeats them."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks import bare
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

PACE = 50.0


@contextmanager
def place() -> Iterator[Path]:
    """A folder on the disk that holds the project, not on a memory disk: durability must cost what it costs."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".bench-") as folder:
        yield Path(folder) / "bench.db"


def _run(url: str, *args: str) -> dict[str, Any]:
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker_main", *args],
        env=_environment(url), check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    answer: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answer


def _environment(url: str) -> dict[str, str]:
    return {**os.environ, "TENURE_BENCH_URL": url}


def bare_loop(count: int) -> dict[str, float]:
    """Messages a second of the yardstick: each part, and the whole cycle."""
    with place() as path:
        connection = bare.connect(path)
        send = bare.send(connection, count)
        drain = bare.drain(connection)
        connection.close()
    return {"send": count / send, "drain": count / drain, "cycle": count / (send + drain)}


def load(url: str, count: int) -> float:
    """Put `count` messages in through the front door, in batches of 1,000; seconds."""

    async def main() -> float:
        app = Tenure(url)

        @app.task
        async def noop(n: int) -> None:
            """Stand for the worker's task of that name."""

        async with app:
            start = time.perf_counter()
            for first in range(0, count, 1000):
                await app.submit_many([noop.bind(n) for n in range(first, first + 1000)])
            return time.perf_counter() - start

    return asyncio.run(main())


def drain(count: int) -> dict[str, Any]:
    """One worker process empties a backlog of `count`; send and drain rates, CPU, memory."""
    with place() as path:
        url = f"sqlite:///{path}"
        sent = load(url, count)
        answer = _run(url, "drain", str(count))
    answer |= {"send_rate": count / sent, "rate": count / answer["seconds"], "cpu_us": answer["cpu"] / count * 1e6}
    return answer


def backlog(count: int) -> dict[str, Any]:
    """A large backlog: how fast depth is answered on it, and how fast it drains."""
    with place() as path:
        url = f"sqlite:///{path}"
        load(url, count)
        depth_ms, cli_ms = asyncio.run(_depth(url)), _queues(url)
        answer = _run(url, "drain", str(count))
    return {"rate": count / answer["seconds"], "depth_ms": depth_ms, "cli_ms": cli_ms, "rss_mb": answer["rss_mb"]}


async def _depth(url: str) -> float:
    async with Tenure(url) as app:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            await app.broker.depth()
            times.append((time.perf_counter() - start) * 1000)
    return median(times)


def _queues(url: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tenure", "queues", url, "--json"], check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000


def latency(seconds: float) -> dict[str, float]:
    """50 messages a second from this process to a worker process: submit to handler start, in milliseconds."""
    with place() as path:
        url = f"sqlite:///{path}"
        with _waiting(url, seconds + 2) as process:
            asyncio.run(_send_at_pace(url, seconds))
            answer = json.loads(process.communicate()[0].splitlines()[-1])
    found = sorted(answer["latencies"])
    return {"count": len(found), "p50_ms": found[len(found) // 2] * 1e3, "p99_ms": found[int(len(found) * 0.99)] * 1e3}


def idle(seconds: float) -> float:
    """Share of one core that a worker with nothing to do takes."""
    with place() as path, _waiting(f"sqlite:///{path}", seconds) as process:
        answer = json.loads(process.communicate()[0].splitlines()[-1])
    return float(answer["cpu_share"])


@contextmanager
def _waiting(url: str, seconds: float) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "benchmarks.worker_main", "wait", str(seconds)]
    with subprocess.Popen(command, env=_environment(url), stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            msg = "the worker did not start"
            raise RuntimeError(msg)
        yield process


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


def help_cpu() -> float:
    """CPU seconds of `tenure --help`, start of Python included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tenure", "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def submitting(count: int) -> dict[str, float]:
    """Microseconds of one `submit`, and of one raw `send` of the same bytes, turn by turn; medians.

    The payload is built by the handler's types for `submit`, and lies ready as an envelope's body for `send`.
    """

    async def main(url: str) -> dict[str, float]:
        app = Tenure(url)

        @app.task
        async def deliver(to: str, subject: str, copies: int = 1) -> None: ...

        body = deliver.bind("ada@example.org", "Your order", 2).body
        submits, sends = [], []
        async with app:
            for _ in range(count):
                began = time.perf_counter()
                await deliver.submit("ada@example.org", "Your order", 2)
                between = time.perf_counter()
                message = Message(
                    id=new_id(app.clock.wall()), queue=deliver.queue, task="deliver", body=body, client=app.client,
                    sent_at=app.clock.wall(),
                )  # fmt: skip
                started = time.perf_counter()
                await app.broker.send([Outgoing(message)])
                ended = time.perf_counter()
                submits.append(between - began)
                sends.append(ended - started)
        return {"submit_us": median(submits) * 1e6, "send_us": median(sends) * 1e6}

    with place() as path:
        return asyncio.run(main(f"sqlite:///{path}"))
