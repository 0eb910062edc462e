"""A process that follows the event stream over many connections, as that many browsers do.

    python -m benchmarks.server_part.viewers URL COUNT [overview | completed]

Prints `ready` when all have begun, and at the end of its input what came: events of each viewer, fewest and most; and
with `completed`, how many completed messages the first one was sent, and how many it was told to have been left out.
"""

import asyncio
import json
import re
import sys
from urllib.parse import urlsplit

#: Of an event of the journal. Snapshots are named events.
_MARK = b'data: {"type":"retried"'
_COMPLETED = b'data: {"type":"completed"'
_SKIPPED = re.compile(rb'data: {"type":"skipped",[^\n]*"count":([0-9]+)')
_QUERIES = {"": "", "overview": "?snapshot=overview", "completed": "?completed=true"}


class _Viewer(asyncio.Protocol):
    """One connection: counts events, and keeps nothing."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._tail = b""
        self.events = self.completed = self.skipped = 0
        self.begun = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio gives a viewer no other one
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.done():
            self.begun.set_result(data.startswith(b"HTTP/1.1 200"))
        whole, _, self._tail = (self._tail + data).rpartition(b"\n")
        self.events += whole.count(_MARK)
        if _COMPLETED in whole or b'"skipped"' in whole:
            self.completed += whole.count(_COMPLETED)
            self.skipped += sum(map(int, _SKIPPED.findall(whole)))


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
    first = {"completed": viewers[0].completed, "skipped": viewers[0].skipped}
    print(json.dumps({"fewest": min(events), "most": max(events), **first}), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), _QUERIES["".join(sys.argv[3:])]))
