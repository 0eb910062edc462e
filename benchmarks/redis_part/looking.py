"""Looking at much on Redis: pages of a million messages, ten thousand leases, the timeline of one message.

What counts is the time in which the server does nothing else: the CPU that it uses for a look, and what one script of
it takes on average. (By the clock it is the same on a machine that does nothing besides.) Messages are put there and
finished through the adapter.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from redis import Redis

from benchmarks.redis_part.server import Local
from benchmarks.table import Table
from tenure.adapters import redis
from tenure.adapters.redis import journal
from tenure.broker import Broker
from tenure.event import Event, EventKind
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState, Outgoing, new_id
from tenure.query import Page, Query
from tenure.settlement import Ack
from tenure.state import State

QUEUE = "looked-at"
#: Leases, and the queues over which they are spread.
LEASES, QUEUES = 10_000, 1_000
ROUNDS = 5
#: Events in one page of the journal, as a busy worker appends them.
EVENTS = 100
_BODY = msgspec.Raw(b'{"n":1}')


class _Meter:
    """What looks cost the server."""

    def __init__(self, server: Local) -> None:
        self._server = server
        self._client: Any = Redis(port=server.port)

    async def milliseconds(self, act: Callable[[], Awaitable[object]]) -> tuple[float, float, float]:
        """CPU of the server for one look in all, and for one of its scripts; and until the answer was there."""
        scripts, cpu, began = self._scripts(), self._server.cpu(), time.perf_counter()
        await act()
        took = (time.perf_counter() - began) * 1000
        cpu = (self._server.cpu() - cpu) * 1000
        return cpu, cpu / max(1, self._scripts() - scripts), took

    def _scripts(self) -> int:
        stats = self._client.info("commandstats")
        return sum(int(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]) for name in ("evalsha", "eval"))

    def close(self) -> None:
        self._client.close()


def measure(table: Table, server: Local, *, quick: bool) -> None:
    """Add the claims."""
    server.empty()
    asyncio.run(_measure(table, server, 100_000 if quick else 1_000_000))
    server.empty()


async def _measure(table: Table, server: Local, count: int) -> None:
    broker, state = redis.connect(redis.read_options(server.url, urlsplit(server.url)))
    await broker.open()
    await state.open()
    meter = _Meter(server)
    before = server.memory_mb()
    ids = await _send(broker, count)
    waiting = server.memory_mb()
    table.figures["bytes_of_a_waiting_message"] = (waiting - before) / count * 1e6
    await _pages(table, meter, broker, MessageState.READY, count)
    await _finish(broker, count)
    table.figures["bytes_of_a_completed_message"] = (server.memory_mb() - before) / count * 1e6
    await _pages(table, meter, broker, MessageState.COMPLETED, count)
    await _timeline(table, meter, state, ids)
    await _leases(table, meter, broker)
    meter.close()
    await broker.close()
    await state.close()


def _outgoing(queue: str, number: int) -> Outgoing:
    wall = time.time()
    # One task in a thousand messages is the rare one that a filter looks for.
    task = "rare" if number % 1000 == 0 else "common"
    return Outgoing(Message(id=new_id(wall), queue=queue, task=task, body=_BODY, client="default", sent_at=wall))


async def _send(broker: Broker, count: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, count, 1000):
        batch = [_outgoing(QUEUE, start + number) for number in range(1000)]
        await broker.send(batch)
        ids += [one.message.id for one in batch]
    return ids


async def _lease(broker: Broker, queues: tuple[str, ...], want: int, seconds: float = 60.0) -> list[Lease]:
    return await broker.lease(LeaseRequest("bench/1", new_id(0.0), queues, want, seconds, has_presence=True))


async def _finish(broker: Broker, count: int) -> None:
    done = 0
    while done < count:
        # A hundred at a time, as a worker with a hundred slots does.
        leases = await _lease(broker, (QUEUE,), 100)
        await broker.ack([Ack(lease, b"null") for lease in leases])
        done += len(leases)


async def _pages(table: Table, meter: _Meter, broker: Broker, state: MessageState, count: int) -> None:
    """The first page, one from the middle, the last one; then one call that looks for a task that is not there."""
    query = Query(states=(state,), queues=(QUEUE,))
    middle = await _go(broker, query, count // 2)
    plain = [query, Query(states=(state,), queues=(QUEUE,), backwards=True), middle]
    took = [await meter.milliseconds(lambda asked=asked: broker.browse(asked)) for asked in plain * ROUNDS]  # type: ignore[misc]
    table.add(f"page of 100 {state.value} of {count:,}, ms of Redis", [one for one, _, _ in took], "≤", 150.0)
    rare = Query(states=(state,), queues=(QUEUE,), task="none of them", bodies=False, backwards=True)
    took = [await meter.milliseconds(lambda: broker.browse(rare)) for _ in range(ROUNDS)]
    table.add(f"10,000 {state.value} looked through for a task, ms", [one for one, _, _ in took], "≤", 150.0)
    table.add(f"a script of that, ms ({state.value})", [each for _, each, _ in took], "≤", 10.0)


async def _go(broker: Broker, query: Query, rows: int) -> Query:
    """The query with a cursor behind so many rows."""
    page = Page()
    while rows > 0:
        page = await broker.browse(
            Query(
                states=query.states,
                queues=query.queues,
                bodies=False,
                task="none of them",
                cursor=page.cursor or "",
                look_at=min(rows, 10_000),
            )
        )
        rows -= page.looked_at
        if page.cursor is None:
            break
    return Query(states=query.states, queues=query.queues, cursor=page.cursor or "")


async def _timeline(table: Table, meter: _Meter, state: State, ids: list[str]) -> None:
    """With one event for each message: more than the journal keeps otherwise."""
    kept, journal.MOST_EVENTS = journal.MOST_EVENTS, len(ids)
    try:
        for start in range(0, len(ids), EVENTS):
            wall = time.time()
            batch = [
                Event(EventKind.COMPLETED, wall, QUEUE, "common", id, "bench/1", 1, 0.001)
                for id in ids[start : start + EVENTS]
            ]
            await state.journal.append(batch)
    finally:
        journal.MOST_EVENTS = kept
    asked = [ids[len(ids) * part // 10] for part in range(10)]
    took = [await meter.milliseconds(lambda id=id: state.journal.about(id)) for id in asked]  # type: ignore[misc]
    table.add(f"timeline of one message, {len(ids):,} events, ms", [one for one, _, _ in took], "≤", 50.0)
    table.add("a script of that, ms (timeline)", [each for _, each, _ in took], "≤", 10.0)
    table.add("until the answer, ms (timeline)", [whole for _, _, whole in took])


async def _leases(table: Table, meter: _Meter, broker: Broker) -> None:
    queues = [f"queue-{number}" for number in range(QUEUES)]
    each = LEASES // QUEUES
    held: list[Lease] = []
    for queue in queues:
        await broker.send([_outgoing(queue, number) for number in range(each)])
        held += await _lease(broker, (queue,), each, 600.0)
    for start in range(0, len(held), 1000):
        await broker.touch(held[start : start + 1000])
    seen = len((await broker.leases()).leases)
    if seen != LEASES:
        msg = f"{seen} leases are listed, and {LEASES} are held"
        raise RuntimeError(msg)
    took = [await meter.milliseconds(broker.leases) for _ in range(ROUNDS)]
    table.add(f"{LEASES:,} leases over {QUEUES:,} queues listed, ms", [one for one, _, _ in took], "≤", 50.0)
    table.add("a script of that, ms (leases)", [each for _, each, _ in took], "≤", 10.0)
    table.add("until the answer, ms (leases)", [whole for _, _, whole in took])
    await broker.send([_outgoing("alone", number) for number in range(LEASES)])
    for _ in range(0, LEASES, 1000):
        await _lease(broker, ("alone",), 1000, 600.0)
    took = [await meter.milliseconds(lambda: broker.leases(["alone"])) for _ in range(ROUNDS)]
    table.add(f"{LEASES:,} leases of one queue listed, ms", [one for one, _, _ in took], "≤", 50.0)
