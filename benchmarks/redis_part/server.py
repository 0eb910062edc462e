"""The server under measurement: a Valkey of our own on a free loopback port, without persistence.

The same server serves the yardstick and Tenure, in turns, and is emptied in between.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis import Redis
from tests.servers import start_redis

from tenure.adapters.redis.naming import RedisNames


class Local:
    """A running server, seen from outside."""

    def __init__(self, url: str, port: int) -> None:
        """Made by `local`."""
        self.url = url
        self.port = port
        self._client = Redis(port=port)

    def cpu(self) -> float:
        """Seconds of CPU that the server has used so far."""
        return used_cpu(self._client.info("cpu"))

    def empty(self) -> None:
        """Remove everything, at once."""
        self._client.flushall(asynchronous=False)

    def left(self, queue: str) -> int:
        """How many messages of a queue are not finished."""
        return int(self._client.hlen(f"{RedisNames('tenure', is_cluster=False).queue(queue)}m"))

    def memory_mb(self) -> float:
        """What the server holds."""
        info: Any = self._client.info("memory")
        return float(info["used_memory"]) / 1e6


def used_cpu(info: Any) -> float:
    """Of the whole process, by `INFO cpu`."""
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


@contextmanager
def local() -> Iterator[Local]:
    """A server that ends with the block."""
    with (
        tempfile.TemporaryDirectory(dir=Path(__file__).parents[1], prefix=".bench-") as folder,
        start_redis("valkey9", Path(folder)) as server,
    ):
        yield Local(server.url, server.port)
