"""`tenure serve` as a process under measurement, seen from outside: its address, its CPU seconds, its memory."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from redis import Redis


class Asked(NamedTuple):
    """One request."""

    #: Until the answer was there.
    milliseconds: float
    #: What the server and the store worked meanwhile, for this request or for others.
    cpu_milliseconds: float
    #: How long they and the client could have run meanwhile, and waited for a core that others had.
    waited_milliseconds: float

    @property
    def on_idle_machine(self) -> float:
        """About how long the answer would have taken with a core to spare; never less than the work for it."""
        return max(self.milliseconds - self.waited_milliseconds, min(self.milliseconds, self.cpu_milliseconds))


class Serving:
    """A server that answers."""

    def __init__(self, pid: int, url: str, store: str) -> None:
        """Made by `serving`."""
        self.url = url
        self._process = Path(f"/proc/{pid}")
        self._working = [pid, *_store_pids(store)]
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def cpu(self) -> float:
        """Seconds of CPU that the server has used so far, all threads together."""
        fields = (self._process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def most_rss_mb(self) -> float:
        """The most memory that it ever held."""
        return self._status_mb("VmHWM")

    def rss_mb(self) -> float:
        """The memory that it holds now."""
        return self._status_mb("VmRSS")

    def _status_mb(self, name: str) -> float:
        lines = (self._process / "status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6

    def get(self, path: str) -> bytes:
        """Ask as a browser does, over one connection that is kept. Raises where the answer is no success."""
        self._connection.request("GET", f"/api/v1{path}", headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            msg = f"{path}: {answer.status} {body[:200]!r}"
            raise RuntimeError(msg)
        return body

    def get_json(self, path: str) -> Any:
        """The same, decoded."""
        self._connection.request("GET", f"/api/v1{path}")
        return json.loads(self._connection.getresponse().read())

    def post(self, path: str) -> tuple[int, bytes]:
        """Post without a body; status and answer."""
        self._connection.request("POST", f"/api/v1{path}", headers={"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def ask(self, path: str, times: int, per_second: float) -> list[Asked]:
        """Ask so often, at that pace."""
        took: list[Asked] = []
        due = time.perf_counter()
        for _ in range(times):
            time.sleep(max(0.0, due - time.perf_counter()))
            (cpu, waited), began = self._worked(), time.perf_counter()
            self.get(path)
            milliseconds = (time.perf_counter() - began) * 1e3
            cpu_now, waited_now = self._worked()
            took.append(Asked(milliseconds, (cpu_now - cpu) / 1e6, (waited_now - waited) / 1e6))
            due = max(due + 1 / per_second, began)
        return took

    def _worked(self) -> tuple[int, int]:
        """Nanoseconds of CPU of the server and the store, by the scheduler's account of each thread.

        And for how long these, or this process, were ready to run and had no core.
        """
        threads = [_scheduled(thread) for pid in self._working for thread in Path(f"/proc/{pid}/task").glob("*")]
        _, own = _scheduled(Path("/proc/self/task") / str(os.getpid()))
        return sum(cpu for cpu, _ in threads), sum(waited for _, waited in threads) + own

    def share(self, seconds: float) -> float:
        """The share of a core that it takes meanwhile."""
        self._connection.close()  # the server closes one that is silent; the next request opens another
        cpu, began = self.cpu(), time.perf_counter()
        time.sleep(seconds)
        return (self.cpu() - cpu) / (time.perf_counter() - began)


@contextmanager
def serving(store: str) -> Iterator[Serving]:
    """`tenure serve` on this store, on a free port of this machine."""
    command = [sys.executable, "-m", "tenure", "serve", store, "--port", "0", "--create", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            yield Serving(process.pid, json.loads(line)["url"], store)
        finally:
            process.terminate()


def _scheduled(thread: Path) -> tuple[int, int]:
    cpu, waited, _ = (thread / "schedstat").read_text(encoding="ascii").split()
    return int(cpu), int(waited)


def _store_pids(store: str) -> list[int]:
    """The processes of the store, besides the server's own."""
    if not store.startswith("redis"):
        return []
    with Redis.from_url(store) as client:
        return [int(client.info("server")["process_id"])]


def p99(values: list[float]) -> float:
    """The time within which 99 of 100 were answered."""
    return quantiles(values, n=100, method="inclusive")[98]
