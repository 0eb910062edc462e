"""A process that follows the event stream over many connections, as that many browsers do.

    python -m benchmarks.server_part.viewers URL COUNT [overview]

Prints `ready` when all have begun, and at the end of its input what came: events of each viewer, fewest and most.
"""

import asyncio
import json
import sys
from urllib.parse import urlsplit

#: Of an event of the journal. Snapshots are named events.
_MARK = b'data: {"type":"retried"'


class _Viewer(asyncio.Protocol):
    """One connection: counts events, and keeps nothing."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._tail = b""
        self.events = 0
        self.begun = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio gives a viewer no other one
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.done():
            self.begun.set_result(data.startswith(b"HTTP/1.1 200"))
        data = self._tail + data
        self.events += data.count(_MARK)
        self._tail = data[-len(_MARK) + 1 :]


async def _main(url: str, count: int, query: str) -> None:
    loop, parts = asyncio.get_running_loop(), urlsplit(url)
    head = f"GET /api/v1/events/stream{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n\r\n"
    host, _, port = parts.netloc.partition(":")
    viewers = []
    for _ in range(count):
        _, viewer = await loop.create_connection(lambda: _Viewer(head.encode()), host, int(port))
        viewers.append(viewer)
    if not all(await asyncio.gather(*(viewer.begun for viewer in viewers))):
        sys.exit("a viewer was refused")
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    events = [viewer.events for viewer in viewers]
    print(json.dumps({"fewest": min(events), "most": max(events)}), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), "?snapshot=overview" if sys.argv[3:] == ["overview"] else ""))
