"""A process that leases and completes messages over HTTP, as cheaply as it can: it shares the machine with the server.

    python -m benchmarks.clients_part.http_consumer URL COUNT SINGLE

First COUNT messages by a hundred over a few connections, then SINGLE ones alone. Prints one line of JSON.
"""

import asyncio
import itertools
import json
import re
import sys
import time
from statistics import median
from urllib.parse import urlsplit

EACH = 100
_CONNECTIONS = 3
#: Until the server's caches are warm.
_WARM = 10
_TOKEN = re.compile(rb'"token":"([^"]+)"')
_numbers = itertools.count()


class Connection:
    """One consumer on a connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, netloc: str) -> None:
        """Made by `connected`."""
        self._reader = reader
        self._writer = writer
        self._netloc = netloc
        self._name = f"c{next(_numbers)}"

    async def post(self, path: str, body: bytes) -> bytes:
        """Post, and return the answer's body."""
        self._writer.write(
            f"POST /api/v1{path} HTTP/1.1\r\nHost: {self._netloc}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        answer = await self._reader.readexactly(int(length.split(b":")[1]))
        if b" 200 " not in head[:20]:
            msg = f"{path}: {head[:40]!r} {answer[:200]!r}"
            raise RuntimeError(msg)
        return answer

    async def lease(self, want: int) -> list[bytes]:
        """Lease; the tokens."""
        request = {
            "queues": ["default-tasks"], "want": want, "lease_seconds": 30, "wait": 5, "consumer": self._name,
            "request_id": f"{self._name}-{next(_numbers)}",
        }  # fmt: skip
        return _TOKEN.findall(await self.post("/lease", json.dumps(request).encode()))

    async def ack(self, tokens: list[bytes]) -> None:
        """Complete all of them."""
        entries = b",".join(b'{"token":"%b","result":{"ok":true}}' % token for token in tokens)
        answer = await self.post("/leases/ack", b'{"leases":[%b]}' % entries)
        if answer.count(b'"outcome":"deleted"') != len(tokens):
            msg = f"not every message was completed: {answer[:200]!r}"
            raise RuntimeError(msg)


async def _connected(netloc: str) -> Connection:
    host, _, port = netloc.partition(":")
    return Connection(*await asyncio.open_connection(host, int(port)), netloc)


async def _work(connection: Connection, times: int) -> int:
    done = 0
    for _ in range(times):
        tokens = await connection.lease(EACH)
        await connection.ack(tokens)
        done += len(tokens)
    return done


async def _main(url: str, count: int, single: int) -> None:
    netloc = urlsplit(url).netloc
    connections = [await _connected(netloc) for _ in range(_CONNECTIONS)]
    await _work(connections[0], _WARM)
    began = time.perf_counter()
    times = count // EACH // _CONNECTIONS
    done = sum(await asyncio.gather(*(_work(one, times) for one in connections)))
    seconds = time.perf_counter() - began
    leases, acks = [], []
    for _ in range(single):
        asked = time.perf_counter()
        tokens = await connections[0].lease(1)
        leased = time.perf_counter()
        await connections[0].ack(tokens)
        leases.append((leased - asked) * 1e3)
        acks.append((time.perf_counter() - leased) * 1e3)
    told = {"seconds": seconds, "count": done, "lease_ms": median(leases), "ack_ms": median(acks)}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
