"""A process that sends messages over HTTP, as cheaply as it can: it shares the machine with the server.

    python -m benchmarks.server_part.sender URL COUNT

Requests of 100 messages each over a few connections, made beforehand. Prints one line of JSON.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

EACH = 100
_CONNECTIONS = 4
#: Until the server's caches are warm.
_WARM = 20


def _request(netloc: str) -> bytes:
    entry = {"queue": "default-tasks", "task": "noop", "payload": {"n": 1}}
    body = json.dumps({"messages": [entry] * EACH}, separators=(",", ":")).encode()
    head = (
        f"POST /api/v1/messages HTTP/1.1\r\nHost: {netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _send(netloc: str, times: int) -> None:
    """So many requests over one connection, one after the other."""
    host, _, port = netloc.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    request = _request(netloc)
    for _ in range(times):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        body = await reader.readexactly(int(length.split(b":")[1]))
        if body.count(b'"outcome":"sent"') != EACH:
            msg = f"not every message was sent: {head[:20]!r} {body[:200]!r}"
            raise RuntimeError(msg)
    writer.close()


async def _main(url: str, count: int) -> None:
    netloc = urlsplit(url).netloc
    await _send(netloc, _WARM)
    times = count // EACH // _CONNECTIONS
    began = time.perf_counter()
    await asyncio.gather(*(_send(netloc, times) for _ in range(_CONNECTIONS)))
    print(json.dumps({"seconds": time.perf_counter() - began, "count": times * EACH * _CONNECTIONS}), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
