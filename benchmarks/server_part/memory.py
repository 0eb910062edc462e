"""Memory: whether a server under mixed traffic still holds after minutes what it held after the first one.

    python -m benchmarks.server_part.memory [MINUTES]      on SQLite and Redis; prints the curve

A worker runs what is sent, so the store does not grow without bound either.
"""

import subprocess
import sys
import time
from statistics import median
from typing import NamedTuple

from benchmarks import driving
from benchmarks.server_part.serving import Serving, serving
from benchmarks.server_part.store import KINDS, Kind

#: How often memory is looked at, and how much of the time passes before it counts: caches fill, threads begin.
_LOOK_SECONDS, _WARM_SHARE = 2.0, 0.2
#: More than the allocator's own ups and downs, less than a few hundred bytes a request.
MOST_GROWN_MB = 3.0


class Curve(NamedTuple):
    """What a server held, in MB."""

    megabytes: list[float]
    requests: int
    streams: int

    @property
    def grown_mb(self) -> float:
        """The last fifth against the second one, by their medians."""
        fifth = max(1, round(len(self.megabytes) * _WARM_SHARE))
        return median(self.megabytes[-fifth:]) - median(self.megabytes[fifth : 2 * fifth])


def under_traffic(kind: Kind, seconds: float) -> Curve:
    """What a server on an empty store holds while it is asked everything."""
    with kind.empty() as url, serving(url) as server, driving.waiting_worker(url, "wait", seconds + 30) as worker:
        command = [sys.executable, "-m", "benchmarks.server_part.traffic", server.url, str(seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as traffic:
            megabytes = _watched(server, traffic)
            out = traffic.stdout.read() if traffic.stdout is not None else ""
        worker.terminate()
    if traffic.returncode:
        msg = "the traffic broke off"
        raise RuntimeError(msg)
    counts = driving.last_line(out)
    return Curve(megabytes, counts["requests"], counts["streams"])


def _watched(server: Serving, traffic: "subprocess.Popen[str]") -> list[float]:
    megabytes = []
    while traffic.poll() is None:
        time.sleep(_LOOK_SECONDS)
        megabytes.append(server.rss_mb())
    return megabytes


def _main(minutes: float) -> None:
    for kind in KINDS:
        curve = under_traffic(kind, 60.0 * minutes)
        print(f"{kind.name}: {curve.requests:,} requests, {curve.streams:,} streams; grown {curve.grown_mb:+.2f} MB")
        step = max(1, round(30 / _LOOK_SECONDS))
        print("  MB each 30 s:", *(f"{one:.1f}" for one in curve.megabytes[::step]), flush=True)


if __name__ == "__main__":
    _main(float(sys.argv[1]) if sys.argv[1:] else 10.0)
