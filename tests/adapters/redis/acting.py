"""What the tests of trouble do again and again: open a place, send, lease, and wait until something is seen."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tenure.adapters import redis
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest
from tenure.message import Message, new_id

QUEUE = "mail"
#: The prefix of its keys.
KEYS = "tenure:{mail}:"
#: How long anything that should happen soon may take on a slow machine.
SOON = 30.0


def connected(url: str) -> tuple[Any, Any]:
    """Broker and state on the machine's own clock, not open yet."""
    return redis.connect(redis.read_options(url, urlsplit(url)), clock=SYSTEM_CLOCK)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """The same, open."""
    broker, state = connected(url)
    await broker.open()
    try:
        yield broker, state
    finally:
        await broker.close()


def message(**fields: Any) -> Message:
    """A new one."""
    wall = SYSTEM_CLOCK.wall()
    usual: dict[str, Any] = {
        "id": new_id(wall), "queue": QUEUE, "task": "deliver", "body": msgspec.Raw(b"{}"), "sent_at": wall,
    }  # fmt: skip
    return Message(**(usual | fields))


def request(owner: str = "one/1", want: int = 10, seconds: float = 30.0, queue: str = QUEUE) -> LeaseRequest:
    """Ask for some."""
    return LeaseRequest(owner, new_id(0.0), (queue,), want, seconds)


async def until(is_so: Callable[[], Awaitable[Any]], within: float = SOON) -> Any:
    """What it says as soon as it says something; an outage is nothing."""
    async with asyncio.timeout(within):
        while True:
            try:
                if found := await is_so():
                    return found
            except BrokerUnavailable:
                pass  # it is waited for
            await asyncio.sleep(0.02)


async def at_last(act: Callable[[], Awaitable[Any]], within: float = SOON) -> Any:
    """Its answer, when the server is back."""

    async def tried() -> tuple[Any]:
        return (await act(),)

    (answer,) = await until(tried, within)
    return answer
