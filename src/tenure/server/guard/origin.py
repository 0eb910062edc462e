"""The origin check: refuses requests that a browser sends for a page of another origin, with a token or without.

Any page may send simple requests to 127.0.0.1 (forms, `text/plain`), without reading the answer. So what changes
something must be `application/json`, which a browser sends elsewhere only after it has asked (and it is never
allowed), and its `Origin` and `Sec-Fetch-Site`, which pages cannot forge, must say that it comes from this server, or
be absent as from programs.
"""

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.server.errors import CrossOrigin, NotJSON
from tenure.server.guard.cross_origin import ALLOWED

_SAFE = ("GET", "HEAD", "OPTIONS")
_SAME = ("same-origin", "none")
#: A link on another page may be followed; nothing else may be loaded from there.
_BY_LINK = "navigate"
_JSON = "application/json"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class OriginCheck:
    """Refuses what pages of other origins send."""

    def __init__(self, app: ASGIApp) -> None:
        """Guard `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if not scope.get(ALLOWED):
            check_origin(scope)
        await self._app(scope, receive, send)


def check_origin(scope: Scope) -> None:
    """Raise `CrossOrigin` or `NotJSON`."""
    headers = _headers(scope)
    is_safe = scope["method"] in _SAFE
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    follows_link = is_safe and headers.get("sec-fetch-mode") == _BY_LINK
    if (site is not None and site not in _SAME and not follows_link) or (
        origin is not None and not _is_ours(origin, headers)
    ):
        msg = "a page of another origin sent this; nothing was changed. Programs send neither Origin nor Sec-Fetch-Site"
        raise CrossOrigin(msg)
    if not is_safe and headers.get("content-type", "").split(";")[0].strip().lower() != _JSON:
        msg = f"a request that changes something needs Content-Type: {_JSON}, also without a body; nothing was changed"
        raise NotJSON(msg)


def is_same_origin(scope: Scope) -> bool:
    """Whether a browser says that a page of this server sent the request."""
    headers = _headers(scope)
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] == "same-origin"
    return "origin" in headers and _is_ours(headers["origin"], headers)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _is_ours(origin: str, headers: dict[str, str]) -> bool:
    """Whether an origin is the host that the request names. Behind a proxy with TLS only the port's default differs."""
    try:
        page = urlsplit(origin)
        named = urlsplit(f"//{headers.get('host', '')}")
        page_port = page.port or _DEFAULT_PORTS.get(page.scheme)
        own_port = named.port or _DEFAULT_PORTS.get(page.scheme)
    except ValueError:
        return False
    return page.scheme in _DEFAULT_PORTS and page.hostname == named.hostname and page_port == own_port
