"""Viewers of a store in virtual time: what each was sent, and how often the store was asked."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tenure import Tenure
from tenure.client.operations.event_choice import EventChoice
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.server.events.event_rights import EventRights
from tenure.server.events.stream import Stream
from tenure.server.events.viewers import Viewers

ALL = EventRights(sees_payload=True)


class Viewer:
    """One stream, and what came of it."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.received = b""
        self.has_ended = False
        #: Cleared: it reads nothing.
        self.reads = asyncio.Event()
        self.reads.set()

    async def run(self) -> None:
        async for block in self.stream.blocks():
            await self.reads.wait()
            self.received += block
        self.has_ended = True

    @property
    def data(self) -> list[dict[str, Any]]:
        lines = self.received.split(b"\n")
        return [msgspec.json.decode(line[6:]) for line in lines if line.startswith(b"data: ")]

    @property
    def types(self) -> list[str]:
        return [one["type"] for one in self.data]

    @property
    def messages(self) -> list[str]:
        return [one["payload"]["message_id"] for one in self.data if "message_id" in one["payload"]]

    @property
    def last_id(self) -> int:
        """What a browser would send as Last-Event-ID."""
        ids = [line for line in self.received.split(b"\n") if line.startswith(b"id: ")]
        return int(ids[-1][4:])


class CountedJournal:
    """The journal of the app, and how often each verb was called."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.calls[name] += 1
        return getattr(self._journal, name)


@contextlib.asynccontextmanager
async def viewing(
    viewers: Viewers, choice: EventChoice | None = None, *, after: int | None = None, rights: EventRights = ALL
) -> AsyncIterator[Viewer]:
    async with viewers.tail.following():
        with viewers.stream(choice or EventChoice(), rights, after=after) as stream:
            viewer = Viewer(stream)
            running = asyncio.create_task(viewer.run())
            await asyncio.sleep(0)
            try:
                yield viewer
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def append(app: Tenure, *ids: str, kind: EventKind = EventKind.DEAD, **fields: Any) -> None:
    wall = app.clock.wall()
    await app.state.journal.append([Event(kind, wall, queue="mail", message_id=id, **fields) for id in ids])


def names(begin: int, end: int) -> list[str]:
    return [f"m{number}" for number in range(begin, end)]


class AwayJournal:
    """Every verb fails as in an outage."""

    def __getattr__(self, name: str) -> Any:
        async def fail(*args: object, **more: object) -> None:
            raise BrokerUnavailable("nobody there")

        return fail


class BrokenJournal:
    """Every verb fails as by a mistake in the code."""

    def __getattr__(self, name: str) -> Any:
        async def fail(*args: object, **more: object) -> None:
            raise LookupError(name)

        return fail
