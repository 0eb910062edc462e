"""A thousand clients on one worker: what it takes at 50 messages a second, each of another client.

On SQLite the worker's process does everything; on Valkey the server's part is told by itself.
"""

import asyncio
import time

import msgspec

from benchmarks import driving
from benchmarks.clients_part.sending import message
from benchmarks.redis_part.server import Local, local
from benchmarks.sqlite_part.measure import address
from benchmarks.table import Table
from tenure import Tenure
from tenure.message import Outgoing

CLIENTS = 1_000
_MODULE = "benchmarks.clients_part.fair_worker"


def measure(table: Table, *, quick: bool) -> None:
    """Fill the table."""
    seconds = 8.0 if quick else 20.0
    with address() as url:
        worker, late, _ = asyncio.run(_pace(url, seconds))
    table.add("SQLite: worker of 1,000 clients at 50/s, % of a core", worker * 100, "≤", 15.0)
    table.add("  the same, submit to handler, p99 ms", late[int(len(late) * 0.99)] * 1e3)
    with local() as server:
        worker, late, redis = asyncio.run(_pace(server.url, seconds, server))
    table.add("Valkey: the server, with a worker of 1,000 clients at 50/s, % of a core", redis * 100, "≤", 8.0)
    table.add("  the worker, % of a core", worker * 100)
    table.add("  submit to handler, p99 ms", late[int(len(late) * 0.99)] * 1e3)


async def _pace(url: str, seconds: float, server: Local | None = None) -> tuple[float, list[float], float]:
    """The worker's share of a core, how late handlers began, and the server's share of a core."""
    async with Tenure(url) as sending:
        await sending.send([_message(number) for number in range(CLIENTS)])  # so that there are such queues
        with driving.waiting(url, _MODULE, "wait", seconds + 4) as process:
            await asyncio.sleep(4.0)  # it runs them first
            before, start = server.cpu() if server else 0.0, time.monotonic()
            for number in range(int(seconds * driving.PACE)):
                await asyncio.sleep(max(0.0, start + number / driving.PACE - time.monotonic()))
                await sending.send([_message(number * 7919 % CLIENTS)])
            redis = (server.cpu() - before) / (time.monotonic() - start) if server else 0.0
            out = await asyncio.to_thread(process.communicate)
    answer = driving.last_line(out[0])
    return answer["cpu_share"], sorted(answer["latencies"][CLIENTS:]), redis


def _message(number: int) -> Outgoing:
    return message(f"client{number:04d}", "stamp", msgspec.Raw(msgspec.json.encode({"sent": time.monotonic()})))
