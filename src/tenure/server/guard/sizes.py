"""Bounds on the address and the headers of a request."""

from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.server.errors import RequestTooLarge

MOST_URL_BYTES = 8_192
MOST_HEADER_BYTES = 32_768
MOST_HEADERS = 100


class Sizes:
    """Refuses what is too large, before anything reads it."""

    def __init__(self, app: ASGIApp) -> None:
        """Guard `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        url = len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b""))
        if url > MOST_URL_BYTES:
            msg = f"the address has {url} bytes; {MOST_URL_BYTES} are taken. Long lists go into the body of a POST"
            raise RequestTooLarge(msg)
        headers = scope["headers"]
        if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > MOST_HEADER_BYTES:
            msg = f"the request has more than {MOST_HEADERS} headers, or {MOST_HEADER_BYTES} bytes of them"
            raise RequestTooLarge(msg)
        await self._app(scope, receive, send)
