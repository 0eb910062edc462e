"""A server that is open to this machine only must not be reached through a proxy of this machine.

For the proxy's clients every request would come from loopback. Proxies say that they are one by the headers below, or
by HTTP/1.0. One that says neither, and rewrites `Host`, looks like a program of this machine: make a token first.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.server.errors import ProxyRefused
from tenure.server.guard.host import host_of, is_loopback_name
from tenure.server.guard.request_path import is_probe

_HEADERS = frozenset(
    {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-original-host", b"true-client-ip", b"client-ip"}
)
_BEGINNINGS = (b"x-forwarded-", b"cf-", b"x-envoy-", b"x-amzn-", b"x-cloud-trace", b"fly-")
#: The origin of the asking page, as far as browsers send it.
_PAGES = (b"origin", b"referer")


class ProxyCheck:
    """Refuses what came through a proxy while neither a token nor a hook protects the server."""

    def __init__(self, app: ASGIApp, is_protected: Callable[[], Awaitable[bool]]) -> None:
        """Guard `app`."""
        self._app = app
        self._is_protected = is_protected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if not is_probe(scope) and came_through_proxy(scope) and not await self._is_protected():
            msg = (
                "this server is open because only this machine reaches it, and this request came through a proxy or "
                "from a page of another origin; make a token first: tenure token create"
            )
            raise ProxyRefused(msg)
        await self._app(scope, receive, send)


def came_through_proxy(scope: Scope) -> bool:
    """Whether anything about a request says that it did not come from this machine itself."""
    if scope.get("http_version") == "1.0":
        return True
    for name, value in scope["headers"]:
        if name in _HEADERS or name.startswith(_BEGINNINGS):
            return True
        if name == b"host" and not _is_here(value.decode("latin-1")):
            return True
        if name in _PAGES and value != b"null" and not _is_here(_host_in(value.decode("latin-1"))):
            return True
    return False


def _host_in(url: str) -> str:
    """The `host:port` of a page's address. Empty: it has none that can be read."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _is_here(named: str) -> bool:
    host = host_of(named)
    return host is not None and is_loopback_name(host)
