"""Export: a whole list as a stream of JSON documents, one a line (`application/x-ndjson`).

It is read page by page as fast as the client takes it, so memory is bounded however long the list is. The last line
says whether all is there: `{"export": {"rows": 1200, "cut": false, "detail": ""}}`. A stream without it broke off.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.errors import TenureError
from tenure.server.disconnect import watch_for_leaving
from tenure.server.problem import problem_of
from tenure.server.route import Ask

MEDIA_TYPE = "application/x-ndjson"
#: An export has so many rows at most.
MOST_ROWS = 1_000_000
#: A client that takes nothing for so long is gone, or as good as gone.
_MOST_SILENT_SECONDS = 60.0
#: How often it is asked whether the one who asks still has access.
_CHECK_SECONDS = 4.0


class ExportEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of an export."""

    rows: int
    #: More rows are there.
    cut: bool
    #: Why it was cut. Empty: it was not.
    detail: str


def wants_ndjson(request: Request) -> bool:
    """Whether the client asks for lines rather than for a page."""
    return MEDIA_TYPE in request.headers.get("accept", "")


class Export(Response):
    """The response: every row of a list from a cursor on."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        ask: Ask[Any, None],
        rows: str,
        read: Callable[[str], Awaitable[tuple[msgspec.Struct, str | None]]],
        *,
        after: str = "",
        most_rows: int = MOST_ROWS,
    ) -> None:
        """`read`: from a cursor to a page and the next cursor. `rows`: the field of a page with its rows."""
        super().__init__(None, 200)
        del self.headers["content-length"]
        self._ask = ask
        self._rows = rows
        self._read = read
        self._after = after
        self._most_rows = most_rows

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Send every page, then the last line."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        server, principal = self._ask.server, self._ask.principal
        with server.streams.slot(principal.name):
            page, cursor = await self._read(self._after)  # what is refused is refused before the answer begins
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with watch_for_leaving(self._ask.request) as has_left:
                end = await self._send_rows(send, page, cursor, has_left)
            await _send_lines(send, [msgspec.json.encode({"export": end})], is_last=True)

    async def _send_rows(
        self, send: Send, page: msgspec.Struct, cursor: str | None, has_left: Callable[[], bool]
    ) -> ExportEnd:
        """Send all rows from a page on; returns how it ended."""
        server, count = self._ask.server, 0
        checked_at = server.app.clock.monotonic()
        while True:
            rows: Sequence[Any] = getattr(page, self._rows)[: self._most_rows - count]
            count += len(rows)
            await _send_lines(send, [server.redaction.redact(msgspec.json.encode(row)) for row in rows])
            if cursor is None:
                # The newest of several queues, merged, have no place to go on from.
                is_cut = getattr(page, "more", False) or getattr(page, "is_cut", False)
                return ExportEnd(rows=count, cut=is_cut, detail="this list cannot go on; use filters" if is_cut else "")
            if is_due := server.app.clock.monotonic() - checked_at >= _CHECK_SECONDS:
                checked_at = server.app.clock.monotonic()
            detail = "the client disconnected" if has_left() else await self._why_ends(count, is_due=is_due)
            if detail:
                return ExportEnd(rows=count, cut=True, detail=detail)
            try:
                page, cursor = await self._read(cursor)
            except TenureError as error:
                return ExportEnd(rows=count, cut=True, detail=problem_of(error).detail)

    async def _why_ends(self, count: int, *, is_due: bool) -> str:
        """Why there is no further page. Empty: there is one."""
        server = self._ask.server
        if count >= self._most_rows:
            return f"an export has at most {self._most_rows} rows; use filters"
        if server.stopping.is_set():
            return "the server stops; ask again"
        if is_due and not await server.authentication.is_still(self._ask.principal, self._ask.request):
            return "the access token was revoked, or has expired"
        return ""


async def _send_lines(send: Send, lines: Sequence[bytes], *, is_last: bool = False) -> None:
    body = b"".join(line + b"\n" for line in lines)
    async with asyncio.timeout(_MOST_SILENT_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": not is_last})
