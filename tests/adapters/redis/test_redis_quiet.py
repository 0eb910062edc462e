"""An idle worker is quiet: one connection waits for all its queues, and the server hears little else of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.redis.acting import until
from tests.servers import KINDS, RedisServer, start_redis

from tenure import Tenure

pytestmark = [pytest.mark.real_time, pytest.mark.outage]

_QUEUES = 20


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    with start_redis(request.param, tmp_path) as server:
        yield server


def _app(url: str, queues: int) -> Tenure:
    app = Tenure(url)
    for number in range(queues):

        async def rest() -> None: ...

        app.task(name=f"rest{number}", queue=f"queue{number}")(rest)
    return app


def _calls(server: RedisServer) -> dict[str, int]:
    """How often each command was called. 6.2 does not tell the words of CLIENT apart."""
    told = re.findall(r"cmdstat_([a-z|]+):calls=(\d+)", str(server.ask("INFO", "commandstats")))
    return {name: int(count) for name, count in told}


async def _while_idle(server: RedisServer, readings: int) -> dict[str, float]:
    """Calls of each command for one reading of the board, which each worker does once a second."""
    before = _calls(server)

    async def are_read() -> bool:
        return _calls(server)["hvals"] - before["hvals"] >= readings

    await until(are_read, within=90.0)
    after = _calls(server)
    count = after["hvals"] - before["hvals"]
    return {name: (calls - before.get(name, 0)) / count for name, calls in after.items()}


async def test_one_connection_waits_for_twenty_queues_and_hardly_anything_is_asked(server: RedisServer) -> None:
    app = _app(server.url, _QUEUES)
    async with app.worker(concurrency=10):

        async def is_idle() -> bool:
            return len(_subscribed(server)) > 0 and "hvals" in _calls(server)

        await until(is_idle)
        # Where the machine stands still, readings are left out, and what is due every five seconds is not: again then.
        seen = [await _while_idle(server, 6)]
        while len(seen) < 6 and not _is_quiet(seen[-1]):
            seen.append(await _while_idle(server, 6))
        assert _subscribed(server) == [1]
        assert _is_quiet(seen[-1]), seen
    await app.close()


def _is_quiet(calls: dict[str, float]) -> bool:
    # A beat and a look each second; a sweep, and a lease that finds nothing, every five.
    scripts = calls["evalsha"] + calls.get("eval", 0.0)
    # Nobody asks for each queue again and again.
    looks = calls.get("xreadgroup", 0.0) + calls.get("xrange", 0.0)
    return scripts <= 6.0 and looks <= 2.0 * _QUEUES / 5.0


def _subscribed(server: RedisServer) -> list[int]:
    """How many channels, or patterns of them, each connection that waits has."""
    lines: Any = server.ask("CLIENT", "LIST", "TYPE", "pubsub")
    return [int(one) + int(two) for one, two in re.findall(r" sub=(\d+) psub=(\d+)", str(lines))]
