"""Stacks: how long it takes from the request until a worker in another process has said where its handler is."""

import time
from http import HTTPStatus
from random import Random

from benchmarks import driving
from benchmarks.server_part.serving import serving
from benchmarks.server_part.store import Kind

_ASKED = 8
_HOLD_SECONDS = 120.0


def answered(kind: Kind) -> list[float]:
    """Seconds of each request. Between two there is a pause, so that each meets another moment of the worker's."""
    chance = Random(1)
    with kind.empty() as url:
        driving.load(url, 1, task="nap", argument=_HOLD_SECONDS)
        with serving(url) as server, driving.waiting_worker(url, "hold", 1, _HOLD_SECONDS) as worker:
            (held,) = server.get_json("/leases")["leases"]
            took = []
            for _ in range(_ASKED):
                time.sleep(1.0 + chance.random())
                began = time.perf_counter()
                status, body = server.post(f"/messages/{held['id']}/stack")
                if status != HTTPStatus.OK:
                    msg = f"{status} {body[:200]!r}"
                    raise RuntimeError(msg)
                took.append(time.perf_counter() - began)
            worker.kill()
    return took
