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
from urllib.parse import urlsplit


class Serving:
    """A server that answers."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        """Made by `serving`."""
        self.url = url
        self._process = Path(f"/proc/{process.pid}")
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def cpu(self) -> float:
        """Seconds of CPU that the server has used so far, all threads together."""
        fields = (self._process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def most_rss_mb(self) -> float:
        """The most memory that it ever held."""
        lines = (self._process / "status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6

    def get(self, path: str) -> bytes:
        """Ask as a browser does, over one connection that is kept. Raises where the answer is no success."""
        self._connection.request("GET", f"/api/v1{path}", headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            msg = f"{path}: {answer.status} {body[:200]!r}"
            raise RuntimeError(msg)
        return body

    def ask(self, path: str, times: int, per_second: float) -> list[float]:
        """Ask so often, at that pace; milliseconds of each."""
        took: list[float] = []
        due = time.perf_counter()
        for _ in range(times):
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            self.get(path)
            took.append((time.perf_counter() - began) * 1e3)
            due = max(due + 1 / per_second, began)
        return took

    def share(self, seconds: float) -> float:
        """The share of a core that it takes meanwhile."""
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
            yield Serving(process, json.loads(line)["url"])
        finally:
            process.terminate()


def p99(values: list[float]) -> float:
    """The time within which 99 of 100 were answered."""
    return quantiles(values, n=100, method="inclusive")[98]
