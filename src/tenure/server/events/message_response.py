"""The response that carries the stream of one message: `GET /messages/{id}/events`."""

import contextlib

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.client.operations.access import Access
from tenure.client.watch_link import WatchGrant
from tenure.errors import MessageNotFound
from tenure.server.events.message_stream import MessageStream
from tenure.server.events.response import LiveResponse
from tenure.server.principal import Principal
from tenure.server.server import Server


class MessageStreamResponse(LiveResponse):
    """Where one message is, and each change until it has ended."""

    def __init__(
        self, server: Server, principal: Principal, request: Request, access: Access, id: str,
        grant: WatchGrant | None, after: str,
    ) -> None:  # fmt: skip
        """Follow message `id`, as far as `access` sees it; with a link, until that expires."""
        super().__init__(server, principal, request)
        self._access = access
        self._id = id
        self._grant = grant
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the message has ended. Raises `MessageNotFound`, `TooManyStreams`, `BrokerError` before."""
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(self._server.streams.slot(self._principal.name))
            records = await stack.enter_async_context(contextlib.aclosing(self._access.client.follow(self._id)))
            first = await anext(records, None)
            if first is None or not self._access.sees(first.queue):
                msg = f"no message {self._id} is known here: it was never sent to this place, or its record has expired"
                raise MessageNotFound(msg)
            stream = MessageStream(
                records, first, self._server.result_redaction, after=self._after,
                sees_payload=self._access.sees_payload,
                # A link is made for people to see how far the work is.
                sees_notes=self._access.sees_payload or self._grant is not None,
            )  # fmt: skip
            if stream.is_told or scope["method"] == "HEAD":
                told = Response(None, 204) if stream.is_told else Response(None, 200, dict(self.headers))
                await told(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._run(stream, receive, send)

    async def _is_still_allowed(self) -> bool:
        if self._grant is not None:
            return self._server.watch_links.is_valid(self._grant)
        return await super()._is_still_allowed()
