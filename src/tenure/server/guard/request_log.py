"""The request log: an id for each request, in `X-Request-Id` and in the log, and a line when it has ended.

What changes something and what is refused is logged at INFO, what only looks at DEBUG (`--verbose`). A line has the
path without the query, and never a header or a body.
"""

import logging
import os
from http import HTTPStatus

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.clock import Clock

logger = logging.getLogger("tenure.server")

_NOTE = "tenure.request"
_SAFE = ("GET", "HEAD")
#: A path of a log line is cut after so many characters.
_LONGEST_PATH = 200


class RequestNote(msgspec.Struct):
    """What is known of a request while it is worked on."""

    id: str
    #: Who asks, once that is known.
    principal: str = ""
    #: The answer's status. 0: none was sent.
    status: int = 0


def note_of(scope: Scope) -> RequestNote:
    """The note of this request."""
    note: RequestNote = scope[_NOTE]
    return note


class RequestLog:
    """Logs every request."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        """Around `app`."""
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        note = scope[_NOTE] = RequestNote(os.urandom(8).hex())
        began = self._clock.monotonic()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", note.id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._log(scope, note, self._clock.monotonic() - began)

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
        logger.log(level, "%s %s: %s in %.0f ms, %s [%s]", method, path, ended, seconds * 1000, who, note.id,
                   extra=fields)  # fmt: skip


def _plain(text: str) -> str:
    """What clients choose cannot forge a line, or steer a terminal: the application around may format it."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
