"""Bounds the body of a request, and the time in which it must come.

A client that sends a byte now and then would hold a request for ever; one that sends gigabytes would fill the memory.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.clock import Clock
from tenure.server.errors import AmbiguousLength, RequestInvalid, RequestTooLarge, RequestTooSlow

#: The whole body must be there after this many seconds.
MOST_SECONDS = 60.0
#: And no two parts of it further apart than this.
MOST_SILENT_SECONDS = 10.0


class Body:
    """Bounds the size and the time of request bodies."""

    def __init__(
        self,
        app: ASGIApp,
        clock: Clock,
        most_bytes: int,
        *,
        most_seconds: float = MOST_SECONDS,
        most_silent_seconds: float = MOST_SILENT_SECONDS,
    ) -> None:
        """Guard `app`: bodies of at most `most_bytes`, in at most `most_seconds`."""
        self._app = app
        self._clock = clock
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds
        self._most_silent_seconds = most_silent_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        self._check(scope)
        received, complete = 0, False
        until = self._clock.monotonic() + self._most_seconds

        async def receiving() -> Message:
            nonlocal received, complete
            if complete:  # what comes now is only that the client disconnected, whenever that is
                return await receive()
            left = min(self._most_silent_seconds, until - self._clock.monotonic())
            try:
                async with asyncio.timeout(max(0.0, left)):
                    message = await receive()
            except TimeoutError:
                msg = "the body did not arrive in time; nothing was changed"
                raise RequestTooSlow(msg) from None
            received += len(message.get("body", b""))
            if received > self._most_bytes:
                raise self._too_large()
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        await self._app(scope, receiving, send)

    def _check(self, scope: Scope) -> None:
        """Refuse a body by its headers."""
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            # A proxy may believe the one and we the other: then the rest of the body is a request of its own.
            msg = "the request states its length in two ways; nothing was changed. Send one of them"
            raise AmbiguousLength(msg)
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._most_bytes:
                raise self._too_large()
            if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
                msg = "a compressed body is not accepted; send it uncompressed"
                raise RequestInvalid(msg, field="Content-Encoding")

    def _too_large(self) -> RequestTooLarge:
        msg = (
            f"the body is larger than {self._most_bytes} bytes; nothing was changed. "
            "Send several requests, or set TENURE_SERVER_BODY_LIMIT"
        )
        return RequestTooLarge(msg)
