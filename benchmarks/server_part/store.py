"""The stores that are served: a database on the project's disk, and a Valkey that is started here.

Each is filled once, and stays filled for all who look. What sends, streams or drains gets an empty one.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from benchmarks.redis_part.server import local
from benchmarks.sqlite_part.measure import address
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

#: As many as the claims speak of.
QUEUES, MESSAGES = 1_000, 1_000_000
_AT_ONCE = 1_000
#: One message in so many is for the rare task; one is delayed; and priorities.
_RARE, _DELAYED, _PRIORITIES = 1_000, 10, 3
RARE_TASK = "resize"
_TASKS = ("deliver", "render", "index")


class Kind(NamedTuple):
    """A kind of store: how it is called in the table, and how an empty one is made."""

    name: str

    @contextmanager
    def empty(self) -> Iterator[str]:
        """The URL of a store of its own."""
        if self.name == "SQLite":
            with address() as url:
                yield url
        else:
            with local() as server:
                yield server.url


KINDS = (Kind("SQLite"), Kind("Redis"))


def queue_name(number: int) -> str:
    """A queue of the filled store."""
    return f"client-{number:04d}-tasks"


def fill(url: str, count: int) -> float:
    """Put `count` messages into 1,000 queues, made beforehand and sent in batches; seconds."""
    return asyncio.run(_fill(url, count))


async def _fill(url: str, count: int) -> float:
    began = time.perf_counter()
    async with Tenure(url) as app:
        for start in range(0, count, _AT_ONCE):
            wall = time.time()
            numbers = range(start, start + _AT_ONCE)
            await app.broker.send([_outgoing(number, number * QUEUES // count, wall) for number in numbers])
    return time.perf_counter() - began


def _outgoing(number: int, queue: int, wall: float) -> Outgoing:
    body = msgspec.Raw(b'{"order":%d,"to":"ada@example.org","copies":1}' % number)
    task = RARE_TASK if number % _RARE == 0 else _TASKS[number % len(_TASKS)]
    message = Message(
        id=new_id(wall), queue=queue_name(queue), task=task, body=body, client=f"client-{queue:04d}",
        priority=number % _PRIORITIES, sent_at=wall,
    )  # fmt: skip
    return Outgoing(message, delay_seconds=86_400.0 if number % _DELAYED == 1 else 0.0)
