"""The host that a request names must be this server's.

A page on the internet can let its own name point to 127.0.0.1 (DNS rebinding) and then counts as the server's own page
in the browser. Its requests still carry that name in `Host`. An address cannot be made to point elsewhere, so where
other machines may ask, any address will do.
"""

import ipaddress
from collections.abc import Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.server.errors import HostRefused
from tenure.server.guard.request_path import is_probe

#: Names of this machine for itself.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class HostCheck:
    """Refuses requests to a host that is not ours."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str] | None, *, any_address: bool) -> None:
        """`hosts`: names and patterns such as `*.example.com`, besides those of loopback. None: any host."""
        self._app = app
        self._hosts = None if hosts is None else tuple(host.lower() for host in hosts)
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if not is_probe(scope):  # a prober asks by whatever address it knows, and learns nothing
            self.check(scope)
        await self._app(scope, receive, send)

    def check(self, scope: Scope) -> None:
        """Raise `HostRefused`."""
        named = [value for name, value in scope["headers"] if name == b"host"]
        host = host_of(named[0].decode("latin-1")) if len(named) == 1 else None
        if host is None:
            msg = "the request does not name one host in its Host header"
            raise HostRefused(msg)
        if self._hosts is None or is_loopback_name(host) or any(fnmatchcase(host, one) for one in self._hosts):
            return
        if self._any_address and _is_address(host):
            return
        msg = (
            f"this server does not answer for the host {host!r}; if it should, start it with TENURE_SERVER_HOSTS={host}"
        )
        raise HostRefused(msg)


def host_of(named: str) -> str | None:
    """The host of a `Host` header or an origin's `host:port`, in lower case. None: it has none."""
    try:
        parts = urlsplit(f"//{named}")
        _ = parts.port  # raises, if it is no number
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None or not parts.hostname:
        return None
    return parts.hostname.rstrip(".")


def is_loopback_name(host: str) -> bool:
    """Whether a host is this machine, by its name or address."""
    if host in LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
