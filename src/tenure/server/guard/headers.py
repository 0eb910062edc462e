"""Security headers on every answer. A route may say otherwise: a header that it sets itself stays."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: No script but our own files, no frames, no forms to elsewhere. A page with a style of its own names its hash.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)


class SecurityHeaders:
    """Adds what is missing."""

    def __init__(self, app: ASGIApp) -> None:
        """Add headers to the answers of `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                message["headers"] = [*headers, *(header for header in _HEADERS if header[0] not in there)]
            await send(message)

        await self._app(scope, receive, sending)
