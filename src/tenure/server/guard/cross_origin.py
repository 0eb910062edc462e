"""Pages of other origins: those that `TENURE_SERVER_ORIGINS` names may open watch links; no origin by default.

A browser lets the page read an answer only if it names the page's origin. It is named for requests with a watch link,
problems included, and for nothing else; cookies are never let through, so a session of this server is worth nothing
there. `origin.py` refuses everything else that comes from another origin.
"""

from collections.abc import Collection

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.server.watch_links import may_be_linked

_SAFE = ("GET", "HEAD")
#: How long a browser may remember what it may send.
_REMEMBERED_SECONDS = 600


class CrossOriginLinks:
    """Lets pages of the origins that were named use watch links."""

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        """Guard `app`."""
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        origin = _header(scope, b"origin")
        is_preflight = scope["method"] == "OPTIONS"
        method = _header(scope, b"access-control-request-method") if is_preflight else scope["method"]
        if origin not in self._origins or method not in _SAFE or not may_be_linked(scope):
            await self._app(scope, receive, send)
            return
        if is_preflight:
            await Response(None, 204, _preflight(origin))(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")]
                message["headers"] = [*message.get("headers", ()), *named]
            await send(message)

        scope[ALLOWED] = True
        await self._app(scope, receive, sending)


#: Set in the scope of requests that `origin.py` lets through.
ALLOWED = "tenure.cross_origin"


def _preflight(origin: str) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": ", ".join(_SAFE),
        "Access-Control-Allow-Headers": "Accept, Cache-Control, Last-Event-ID",
        "Access-Control-Max-Age": str(_REMEMBERED_SECONDS),
        "Vary": "Origin",
    }


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
