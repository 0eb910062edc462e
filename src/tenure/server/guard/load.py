"""Bounds how many requests are worked on at once. A stream counts until it begins; then it has a slot of its own."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.server.errors import ServerBusy
from tenure.server.guard.request_path import is_probe

_RETRY_AFTER_SECONDS = 1.0
STREAM_TYPE = b"text/event-stream"


class Load:
    """Counts requests of one process."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """At most so many at once."""
        self._app = app
        self._most = most
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if is_probe(scope):
            await self._app(scope, receive, send)
            return
        if self._count >= self._most:
            msg = f"the server works on {self._most} requests, as many as it may"
            raise ServerBusy(msg, retry_after=_RETRY_AFTER_SECONDS)
        self._count += 1
        is_counted = True

        async def sending(message: Message) -> None:
            nonlocal is_counted
            if message["type"] == "http.response.start" and is_counted and _is_stream(message):
                self._count -= 1
                is_counted = False
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            if is_counted:
                self._count -= 1


def _is_stream(message: Message) -> bool:
    headers = message.get("headers", ())
    return any(name.lower() == b"content-type" and value.startswith(STREAM_TYPE) for name, value in headers)
