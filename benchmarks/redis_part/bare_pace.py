"""The yardstick of latency: entries through a bare stream one at a time, from one process to another at 50 a second.

    python -m benchmarks.redis_part.bare_pace PORT SECONDS

is the receiver: a blocking XREADGROUP, then XACK and XDEL. It prints how long each entry was on its way.
"""

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from redis.asyncio import Redis

from benchmarks import driving
from benchmarks.redis_part.server import Local

_STREAM, _GROUP = "pace", "g"


def latency(server: Local, seconds: float) -> dict[str, float]:
    """XADD to the receiver's next line, in milliseconds."""
    server.empty()
    command = [sys.executable, "-m", "benchmarks.redis_part.bare_pace", str(server.port), str(seconds + 2)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        if receiver.stdout is None or receiver.stdout.readline().strip() != "ready":
            msg = "the receiver did not start"
            raise RuntimeError(msg)
        asyncio.run(_send(server.port, seconds))
        answer = driving.last_line(receiver.communicate()[0])
    return driving.quantiles(answer["latencies"])


async def _send(port: int, seconds: float) -> None:
    async with Redis(port=port) as client:
        start = time.monotonic()
        for number in range(int(seconds * driving.PACE)):
            await asyncio.sleep(max(0.0, start + number / driving.PACE - time.monotonic()))
            await client.xadd(_STREAM, {"at": repr(time.monotonic())})


async def _receive(port: int, seconds: float) -> None:
    latencies: list[float] = []
    async with Redis(port=port) as client:
        await client.xgroup_create(_STREAM, _GROUP, id="0", mkstream=True)
        print("ready", flush=True)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            reply: Any = await client.xreadgroup(_GROUP, "one", {_STREAM: ">"}, count=100, block=500)
            now = time.monotonic()
            for id, fields in reply[0][1] if reply else ():
                latencies.append(now - float(fields[b"at"]))
                await client.xack(_STREAM, _GROUP, id)
                await client.xdel(_STREAM, id)
    print(json.dumps({"latencies": latencies}), flush=True)


if __name__ == "__main__":
    asyncio.run(_receive(int(sys.argv[1]), float(sys.argv[2])))
