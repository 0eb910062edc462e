"""Noticing that a client has left, while a handler works on something long for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request


@contextlib.asynccontextmanager
async def watch_for_leaving(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Return a function that says whether the client disconnected. The body was read before."""

    async def until_left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    watching = asyncio.create_task(until_left())
    try:
        yield watching.done
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
