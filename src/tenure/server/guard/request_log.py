"""The request log: an id for each request, in `X-Request-Id` and in the log, and a line when it has ended.

What changes something and what is refused is logged at INFO, what only looks at DEBUG (`--verbose`). A line has the
path without the query, and never a header or a body.
"""

import logging
import os
from collections.abc import Callable
from http import HTTPStatus

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.clock import Clock

logger = logging.getLogger("tenure.server")

_NOTE = "tenure.request"
STREAM_TYPE = b"text/event-stream"
_SAFE = ("GET", "HEAD")
#: A path of a log line is cut after this many characters.
_LONGEST_PATH = 200


class RequestNote(msgspec.Struct):
    """The notes on a request while it runs."""

    id: str
    #: Who asks, once that is known.
    principal: str = ""
    #: The answer's status. 0: none was sent.
    status: int = 0
    #: The pattern of its route. Empty: none was found.
    route: str = ""
    #: The code of the problem that was answered. Empty: there was none.
    code: str = ""
    #: Whether it is a stream or a long poll: it lasts as long as its client waits.
    waits: bool = False


def note_of(scope: Scope) -> RequestNote:
    """The note of this request."""
    note: RequestNote = scope[_NOTE]
    return note


class RequestLog:
    """Logs every request."""

    def __init__(
        self, app: ASGIApp, clock: Clock, on_end: Callable[[str, RequestNote, float], None] = lambda *_: None
    ) -> None:
        """Log the requests to `app`. `on_end` gets the method of each, the note on it, and its seconds."""
        self._on_end = on_end
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        note = scope[_NOTE] = RequestNote(os.urandom(8).hex())
        began = self._clock.monotonic()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
                note.waits = note.waits or is_stream(message)
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", note.id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            seconds = self._clock.monotonic() - began
            self._on_end(scope["method"], note, seconds)
            self._log(scope, note, seconds)

    def _log(self, scope: Scope, note: RequestNote, seconds: float) -> None:
        method, path = scope["method"], _plain(scope["path"][:_LONGEST_PATH])
        looks = method in _SAFE and note.status < HTTPStatus.BAD_REQUEST
        level = logging.DEBUG if looks else logging.INFO
        if not logger.isEnabledFor(level):
            return
        source = scope["client"][0] if scope.get("client") else ""
        fields = {
            "request_id": note.id, "method": method, "path": path, "status": note.status,
            "seconds": round(seconds, 6), "principal": note.principal, "source": source,
        }  # fmt: skip
        who = f"{_plain(note.principal) or '–'} at {source or '–'}"
        ended = str(note.status) if note.status else "no answer"
        logger.log(
            level, "%s %s: %s in %.0f ms, %s [%s]", method, path, ended, seconds * 1000, who, note.id, extra=fields
        )


def is_stream(message: Message) -> bool:
    """Whether an answer that begins is a stream of events."""
    headers = message.get("headers", ())
    return any(name.lower() == b"content-type" and value.startswith(STREAM_TYPE) for name, value in headers)


def _plain(text: str) -> str:
    """Escape text that clients choose: it must not forge a line or steer a terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
