"""A process that asks everything of a server, as people and programs do, at a steady pace.

    python -m benchmarks.server_part.traffic URL SECONDS

Batches are sent, lists and messages looked at, events followed and left again, wrong requests made. Prints one line of
JSON: how many requests and streams there were.
"""

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from benchmarks.server_part.connection import Connection

_EACH = 50
#: So many batches, looks and streams a second.
_BATCHES, _LOOKS, _STREAMS = 10.0, 40.0, 4.0
_PATHS = (
    "/snapshots/overview", "/snapshots/queues", "/snapshots/leases", "/overview", "/queues", "/messages?state=ready",
    "/messages?queue=default-tasks&newest_first=true", "/events?limit=50", "/workers", "/tasks", "/leases", "/dead",
    "/acts", "/messages/{id}", "/messages/{id}/result",
)  # fmt: skip
#: What is refused: nothing there, no such parameter, no JSON.
_WRONG = (
    ("GET", "/messages/none-{number}", b"", HTTPStatus.NOT_FOUND),
    ("GET", "/queues?none={number}", b"", HTTPStatus.UNPROCESSABLE_ENTITY),
    ("POST", "/messages", b'{"messages": [{"queue": "{number}"', HTTPStatus.UNPROCESSABLE_ENTITY),
)


class Traffic:
    """What one process asks."""

    def __init__(self, url: str) -> None:
        """Nothing is asked yet."""
        self._netloc = urlsplit(url).netloc
        self._ids: list[str] = ["none"]
        self.counts: Counter[str] = Counter()

    async def run(self, seconds: float) -> None:
        """All of it side by side."""
        async with asyncio.TaskGroup() as group:
            for one, pace in ((self._send, _BATCHES), (self._look, _LOOKS), (self._follow, _STREAMS)):
                group.create_task(self._at_pace(one, pace, seconds))

    async def _at_pace(
        self, one: Callable[[Connection, int], Coroutine[Any, Any, None]], pace: float, seconds: float
    ) -> None:
        connection, began = Connection(self._netloc), time.perf_counter()
        for number in itertools.count():
            await asyncio.sleep(max(0.0, began + number / pace - time.perf_counter()))
            if time.perf_counter() - began > seconds:
                connection.close()
                return
            await one(connection, number)

    async def _send(self, connection: Connection, number: int) -> None:
        entry = {"queue": "default-tasks", "task": "noop", "payload": {"n": number}}
        status, answer = await connection.ask("POST", "/messages", json.dumps({"messages": [entry] * _EACH}).encode())
        _check(status, HTTPStatus.OK, "/messages")
        self._ids = [one["id"] for one in json.loads(answer)["messages"]]
        self.counts["messages"] += _EACH
        self.counts["requests"] += 1

    async def _look(self, connection: Connection, number: int) -> None:
        self.counts["requests"] += 1
        if number % 8 == 0:
            method, path, body, expected = _WRONG[number // 8 % len(_WRONG)]
            text = str(number).encode()
            status, _ = await connection.ask(method, path.format(number=number), body.replace(b"{number}", text))
            _check(status, expected, path)
            return
        path = _PATHS[number % len(_PATHS)].format(id=self._ids[number % len(self._ids)])
        status, _ = await connection.ask("GET", path)
        if not path.endswith(("/none", "/result")):  # a result may not be there yet
            _check(status, HTTPStatus.OK, path)

    async def _follow(self, connection: Connection, number: int) -> None:
        self.counts["streams"] += 1
        query = "?snapshot=overview&snapshot=leases" if number % 2 else "?kind=completed"
        if not await connection.listen(f"/events/stream{query}", 0.2):  # too short, where the machine is busy
            self.counts["silent streams"] += 1


def _check(status: int, expected: int, path: str) -> None:
    if status != expected:
        msg = f"{path}: {status} instead of {expected}"
        raise RuntimeError(msg)


async def _main(url: str, seconds: float) -> None:
    traffic = Traffic(url)
    await traffic.run(seconds)
    print(json.dumps(traffic.counts), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], float(sys.argv[2])))
