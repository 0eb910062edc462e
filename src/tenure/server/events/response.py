"""The response that carries a stream: from a request to the end of its connection.

It ends when the client leaves, when the server is asked to stop, when the viewer's access no longer stands, and when
the connection takes nothing for a minute. Each stream has a slot (`stream_slots.py`), and writes no faster than the
client reads.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.client.operations.event_choice import EventChoice
from tenure.errors import BrokerError
from tenure.server.authentication import bearer_of
from tenure.server.events.event_rights import EventRights
from tenure.server.principal import Principal
from tenure.server.server import Server
from tenure.server.session import cookie_name
from tenure.server.snapshots.ticks import SnapshotTicks

logger = logging.getLogger("tenure.server")

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store, no-transform",  # a proxy that compresses would hold events back
    "X-Accel-Buffering": "no",
}
#: With the 4 s for which a token's check is believed, a revoked one ends its streams within 5 s. A hook is asked less
#: often: it may ask another service.
_CHECK_SECONDS, _CHECK_HOOK_SECONDS = 0.75, 4.0
#: A connection that takes nothing for so long is given up.
_STUCK_SECONDS = 60.0
#: What is on its way when a stream must end has so long to be taken.
_LAST_SECONDS = 1.0


class Live(Protocol):
    """A stream, as its response knows it."""

    def blocks(self) -> AsyncGenerator[bytes]:
        """Yield all blocks until it ends."""
        ...

    def end(self) -> None:
        """End it, with a hint when to come back."""
        ...


class LiveResponse(Response):
    """Sends a stream to one viewer. Subclasses make it."""

    def __init__(self, server: Server, principal: Principal, request: Request) -> None:
        """Answer `request` of `principal`."""
        super().__init__(None, 200, HEADERS)
        del self.headers["content-length"]
        self._server = server
        self._principal = principal
        self._request = request

    async def _is_still_allowed(self) -> bool:
        return await self._server.authentication.is_still(self._principal, self._request)

    async def _run(self, stream: Live, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(stream, send))
        leaving = asyncio.create_task(_left(receive))
        guarding = asyncio.create_task(self._no_longer_allowed())
        tasks = (sending, leaving, guarding)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not leaving.done():
                stream.end()
                await asyncio.wait((sending, leaving), timeout=_LAST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise error

    async def _send_all(self, stream: Live, send: Send) -> None:
        async with contextlib.aclosing(stream.blocks()) as blocks:
            async for data in blocks:
                try:
                    async with asyncio.timeout(_STUCK_SECONDS):
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                except TimeoutError:
                    logger.info(
                        "closed a stream of %s: its client read nothing for %.0f s",
                        self._principal.name,
                        _STUCK_SECONDS,
                    )
                    return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _no_longer_allowed(self) -> None:
        """Return when the server stops, or would no longer let the viewer in."""
        options = self._server.options
        by_hook = options.authenticate is not None and not (
            bearer_of(self._request) or cookie_name(self._request) in self._request.cookies
        )
        pause = _CHECK_HOOK_SECONDS if by_hook else _CHECK_SECONDS
        stopping = self._server.stopping
        while not stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stopping.wait()
                return
            try:
                if not await self._is_still_allowed():
                    return
            except BrokerError:  # nothing can be read or done meanwhile, and it is asked again
                continue


class StreamResponse(LiveResponse):
    """Events, and snapshots where they were asked for."""

    def __init__(
        self,
        server: Server,
        principal: Principal,
        request: Request,
        choice: EventChoice,
        rights: EventRights,
        *,
        after: int | None,
        ticks: SnapshotTicks | None,
    ) -> None:
        """Answer `request` with a stream behind `after`, with snapshots if `ticks` is given."""
        super().__init__(server, principal, request)
        self._choice = choice
        self._rights = rights
        self._after = after
        self._ticks = ticks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Send until it ends. Raises `TooManyStreams` and `BrokerError` before anything is sent."""
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(self._server.streams.slot(self._principal.name))
            viewers = self._server.viewers
            await stack.enter_async_context(viewers.tail.following())
            stream = stack.enter_context(
                viewers.stream(self._choice, self._rights, after=self._after, ticks=self._ticks)
            )
            if self._ticks is not None:
                await self._ticks.snapshots.view(self._ticks.access)
                stack.enter_context(self._ticks.snapshots.watched(self._ticks.access, stream.wake))
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._run(stream, receive, send)


async def _left(receive: Receive) -> None:
    """Return when the client disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def last_event_id(request: Request) -> int | None:
    """Return the last event id that the client sends. None: it is not one that this server wrote."""
    text = request.headers.get("last-event-id", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


#: Places fit into 64 bits.
_DIGITS = 18
