"""Bounds how many requests are worked on at once. A stream counts until it begins; then it has a slot of its own."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.server.errors import ServerBusy
from tenure.server.guard.request_log import is_stream
from tenure.server.guard.request_path import is_probe

_RETRY_AFTER_SECONDS = 1.0


class Load:
    """Counts requests of one process."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """Pass at most `most` requests to `app` at once."""
        self._app = app
        self._most = most
        self._count = 0

    @property
    def running(self) -> int:
        """Requests that are worked on, without streams."""
        return self._count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if is_probe(scope):
            await self._app(scope, receive, send)
            return
        if self._count >= self._most:
            msg = f"the server works on {self._most} requests, which is its limit"
            raise ServerBusy(msg, retry_after=_RETRY_AFTER_SECONDS)
        self._count += 1
        is_counted = True

        async def sending(message: Message) -> None:
            nonlocal is_counted
            if message["type"] == "http.response.start" and is_counted and is_stream(message):
                self._count -= 1
                is_counted = False
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            if is_counted:
                self._count -= 1
