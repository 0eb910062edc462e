"""The measurements on SQLite, each in a fresh database; whoever calls interleaves and repeats them."""

import asyncio
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

from benchmarks import driving
from benchmarks.sqlite_part import bare, bare_pace
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id


@contextmanager
def place() -> Iterator[Path]:
    """A folder on the disk that holds the project, not on a memory disk: durability must cost what it costs."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parents[1], prefix=".bench-") as folder:
        yield Path(folder) / "bench.db"


@contextmanager
def address() -> Iterator[str]:
    """The URL of a database of its own."""
    with place() as path:
        yield f"sqlite:///{path}"


#: As large as the envelope of a small message.
_BODY = b'{"tenure":1,"id":"019b76e9ea40fd8e0cebc9fdd1e87b86","queue":"default-tasks","task":"noop","body":{"n":1}}'


def bare_loop(count: int) -> dict[str, float]:
    """Messages a second of the yardstick: each part, and the whole cycle."""
    with place() as path:
        connection = bare.connect(path)
        send = bare.send(connection, count)
        drain = bare.drain(connection)
        connection.close()
    return {"send": count / send, "drain": count / drain, "cycle": count / (send + drain)}


def drain(count: int) -> dict[str, Any]:
    """One worker process empties a backlog of `count`; send and drain rates, CPU, memory."""
    with address() as url:
        sent = driving.load(url, count)
        answer = driving.run_worker(url, "drain", count)
    answer |= {"send_rate": count / sent, "rate": count / answer["seconds"], "cpu_us": answer["cpu"] / count * 1e6}
    return answer


def backlog(count: int) -> dict[str, Any]:
    """A large backlog: how fast depth is answered on it, and how fast it drains."""
    with address() as url:
        driving.load(url, count)
        depth_ms, cli_ms = asyncio.run(_depth(url)), _queues(url)
        answer = driving.run_worker(url, "drain", count)
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
    """50 messages a second: submit to handler start, in milliseconds."""
    with address() as url:
        return driving.latency(url, seconds)


def bare_latency(seconds: float) -> dict[str, float]:
    """The same through the bare table."""
    with place() as path:
        return bare_pace.latency(path, seconds)


def inserting(count: int) -> float:
    """Microseconds of one bare insert that waits for the disk; the median."""
    with place() as path:
        connection = bare.connect(path)
        taken = [bare_pace.insert(connection, _BODY) for _ in range(count)]
        connection.close()
    return median(taken) * 1e6


def worker_cpu(kind: str, count: int) -> float:
    """Microseconds of CPU that a worker takes for each message of a kind (`kinds_worker.py`)."""
    with address() as url:
        answer = driving.last_line(driving.run("benchmarks.kinds_worker", kind, count, env=driving.environment(url)))
    return float(answer["cpu"]) / count * 1e6


def idle(seconds: float) -> float:
    """Share of one core that a worker with nothing to do takes."""
    with address() as url:
        return driving.idle(url, seconds)


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
                    id=new_id(app.clock.wall()),
                    queue=deliver.queue,
                    task="deliver",
                    body=body,
                    client=app.client,
                    sent_at=app.clock.wall(),
                )
                started = time.perf_counter()
                await app.broker.send([Outgoing(message)])
                ended = time.perf_counter()
                submits.append(between - began)
                sends.append(ended - started)
        return {"submit_us": median(submits) * 1e6, "send_us": median(sends) * 1e6}

    with address() as url:
        return asyncio.run(main(url))
