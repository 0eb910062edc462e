"""Draining and sending on Redis, each after the server was emptied; whoever calls interleaves and repeats them."""

import signal
import subprocess
import sys
import time
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks import driving
from benchmarks.redis_part.server import Local

QUEUE = "default-tasks"
#: The part of a drain by several processes in which all of them are at work.
FROM, UNTIL = 0.75, 0.05


def _ask(url: str, *words: object) -> dict[str, Any]:
    command = [sys.executable, "-m", *map(str, words)]
    out = subprocess.run(command, env=driving.environment(url), check=True, capture_output=True, text=True).stdout
    return driving.last_line(out)


def bare(server: Local, count: int) -> dict[str, float]:
    """The yardsticks: messages a second, and microseconds of CPU a message."""
    server.empty()
    answer = _ask(server.url, "benchmarks.redis_part.bare", server.port, count)
    drain = answer["drain"]
    return {
        "send_rate": count / answer["send"]["seconds"], "send_us": answer["send"]["cpu"] / count * 1e6,
        "rate": count / drain["seconds"], "cpu_us": drain["cpu"] / count * 1e6,
        "redis_us": drain["redis_cpu"] / count * 1e6,
    }  # fmt: skip


def bulk(server: Local, count: int) -> dict[str, float]:
    """`submit_many`, and `send` of what is made already."""
    server.empty()
    answer = _ask(server.url, "benchmarks.redis_part.sender", "bulk", count)
    return {
        "rate": count / answer["seconds"], "cpu_us": answer["cpu"] / count * 1e6,
        "raw_rate": count / answer["raw_seconds"], "raw_us": answer["raw_cpu"] / count * 1e6,
    }  # fmt: skip


def single(server: Local, count: int) -> dict[str, float]:
    """Microseconds of one XADD, one `submit` and one raw `send`, one after the other."""
    server.empty()
    return _ask(server.url, "benchmarks.redis_part.sender", "single", server.port, count)


def drain(server: Local, count: int) -> dict[str, Any]:
    """One worker process empties a backlog."""
    server.empty()
    driving.load(server.url, count)
    before = server.cpu()
    answer = driving.run_worker(server.url, "drain", count)
    redis = server.cpu() - before
    return answer | {
        "rate": count / answer["seconds"],
        "cpu_us": answer["cpu"] / count * 1e6,
        "redis_us": redis / count * 1e6,
    }


def share(server: Local, count: int, processes: int) -> dict[str, float]:
    """`tenure worker --processes N` while all of them are at work: messages a second, and the CPU of each message."""
    server.empty()
    driving.load(server.url, count)
    command = [sys.executable, "-m", "tenure", "worker", "benchmarks.tasks:app", "--concurrency", "100"]
    with subprocess.Popen(
        [*command, "--processes", str(processes)], env=driving.environment(server.url), stderr=subprocess.DEVNULL
    ) as parent:
        try:
            first = (*_until_left(server, count * FROM), _tree_cpu(parent.pid))
            last = (*_until_left(server, count * UNTIL), _tree_cpu(parent.pid))
        finally:
            parent.send_signal(signal.SIGTERM)
    done = first[0] - last[0]
    return {"rate": done / (last[1] - first[1]), "cpu_us": (last[2] - first[2]) / done * 1e6}


def kind_cpu(server: Local, kind: str, count: int) -> float:
    """Microseconds of CPU, worker and server, for each message of a kind (`kinds_worker.py`)."""
    server.empty()
    answer = driving.last_line(driving.run("benchmarks.kinds_worker", kind, count, env=driving.environment(server.url)))
    return float(answer["cpu"] + answer["redis_cpu"]) / count * 1e6


def _tree_cpu(pid: int) -> float:
    """Seconds of CPU that a process and those below it have used."""
    parent = psutil.Process(pid)
    times = [one.cpu_times() for one in (parent, *parent.children(recursive=True))]
    return sum(float(one.user + one.system) for one in times)


def _until_left(server: Local, count: float) -> tuple[int, float]:
    while (left := server.left(QUEUE)) > count:
        time.sleep(0.005)
    return left, time.perf_counter()


def naps(server: Local, count: int, seconds: float, concurrency: int) -> float:
    """The ideal time for tasks that only wait, as a part of the time that it takes."""
    server.empty()
    driving.load(server.url, count, task="nap", argument=seconds)
    answer = driving.run_worker(server.url, "drain", count, concurrency)
    return count * seconds / concurrency / float(answer["seconds"])
