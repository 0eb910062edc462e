"""Consumers over HTTP: how many messages a second one server leases and completes, and how long a single one takes."""

import asyncio
from statistics import median

import msgspec

from benchmarks import driving
from benchmarks.clients_part.http_consumer import EACH
from benchmarks.server_part.serving import serving
from benchmarks.server_part.store import KINDS
from benchmarks.table import Table
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

ROUNDS = 5
QUEUE = "default-tasks"
_BATCHED, _SINGLE = 30_000, 600
_QUICKLY = 10_000


def measure(table: Table, *, quick: bool) -> None:
    """On SQLite and on Redis."""
    count = _QUICKLY if quick else _BATCHED
    for kind in KINDS:
        rates, costs, leases, acks = [], [], [], []
        with kind.empty() as url, serving(url) as server:
            for _round in range(2 if quick else ROUNDS):
                asyncio.run(_fill(url, count + _SINGLE + 20 * EACH))
                cpu = server.cpu()
                told = driving.last_line(
                    driving.run("benchmarks.clients_part.http_consumer", server.url, count, _SINGLE)
                )
                rates.append(told["count"] / told["seconds"])
                costs.append((server.cpu() - cpu) / (told["count"] + _SINGLE) * 1e6)
                leases.append(told["lease_ms"])
                acks.append(told["ack_ms"])
        table.add(f"lease and ack over HTTP by {EACH}, {kind.name}, messages a second", rates, "≥", 8_000.0)
        table.add("  the same, server CPU a message, µs", costs)
        table.add(f"lease of a single message, {kind.name}, p50 ms", median(leases), "≤", 3.0)
        table.add(f"ack of a single message, {kind.name}, p50 ms", median(acks), "≤", 3.0)


async def _fill(url: str, count: int) -> None:
    async with Tenure(url) as app:
        for start in range(0, count, 1_000):
            batch = []
            for number in range(start, min(count, start + 1_000)):
                wall = app.state.wall()
                body = b'{"n":%d}' % number
                batch.append(
                    Outgoing(Message(id=new_id(wall), queue=QUEUE, task="noop", body=msgspec.Raw(body), sent_at=wall))
                )
            await app.send(batch)
