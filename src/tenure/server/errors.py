"""Errors of the server: what it refuses before a route is asked, and what routes refuse by HTTP's own rules.

    ServerError
    ├── Unauthenticated      unauthenticated
    ├── WatchLinkInvalid     watch_link_invalid
    ├── ForbiddenScope       forbidden_scope
    ├── ReadOnly             read_only
    ├── HostRefused          host_refused
    ├── ProxyRefused         proxy_refused
    ├── CrossOrigin          cross_origin
    ├── NotJSON              not_json
    ├── RequestInvalid       request_invalid
    │   └── AmbiguousLength  ambiguous_length
    ├── RequestTooLarge      request_too_large
    ├── RequestTooSlow       request_too_slow
    ├── TooManyAttempts      too_many_attempts
    ├── TooManyStreams       too_many_streams
    ├── ServerBusy           server_busy
    ├── RouteNotFound        route_not_found
    ├── MethodNotAllowed     method_not_allowed
    ├── LifespanMissing      lifespan_missing
    ├── TokenNotFound        token_not_found
    ├── LeaseTokenInvalid    lease_token_invalid
    ├── TakenOver            taken_over
    └── AlreadyGone          already_gone
    ConfigurationError
    ├── PortInUse            port_in_use
    └── Unprotected          unprotected

What HTTP status goes with each is in `problem.py`.
"""

from collections.abc import Iterable

from tenure.errors import ConfigurationError, TenureError


class ServerError(TenureError):
    """The server refuses a request; the subclass says why. Nothing was changed."""

    code = "server_error"

    def __init__(self, message: str, *, retry_after: float | None = None, field: str | None = None) -> None:
        """Say why. `retry_after`: seconds after which it may be tried again. `field`: what of the request is wrong."""
        super().__init__(message)
        self.retry_after = retry_after
        self.field = field


class Unauthenticated(ServerError):
    """The request has no credentials, or none that are valid."""

    code = "unauthenticated"


class WatchLinkInvalid(ServerError):
    """The watch link has expired, is of another message, or was changed."""

    code = "watch_link_invalid"


class ForbiddenScope(ServerError):
    """The principal lacks the scope that this route needs."""

    code = "forbidden_scope"


class ReadOnly(ServerError):
    """The server was started to look only."""

    code = "read_only"


class HostRefused(ServerError):
    """The request names a host that is not this server's."""

    code = "host_refused"


class ProxyRefused(ServerError):
    """A request came through a proxy to a server that is open to this machine only."""

    code = "proxy_refused"


class CrossOrigin(ServerError):
    """A page of another origin asks."""

    code = "cross_origin"


class NotJSON(ServerError):
    """A request that changes something is not `application/json`."""

    code = "not_json"


class RequestInvalid(ServerError):
    """A part of the request does not have the form that the route takes."""

    code = "request_invalid"


class AmbiguousLength(RequestInvalid):
    """The request has both Content-Length and Transfer-Encoding, as attacks on proxies do."""

    code = "ambiguous_length"


class RequestTooLarge(ServerError):
    """The body, the address or the headers are larger than the server takes."""

    code = "request_too_large"


class RequestTooSlow(ServerError):
    """The body did not arrive in time."""

    code = "request_too_slow"


class TooManyAttempts(ServerError):
    """Too many requests with wrong credentials came from this address."""

    code = "too_many_attempts"


class TooManyStreams(ServerError):
    """The principal, or the server, has as many streams open as it may."""

    code = "too_many_streams"


class ServerBusy(ServerError):
    """The server works on as many requests as it may."""

    code = "server_busy"


class RouteNotFound(ServerError):
    """There is no such route."""

    code = "route_not_found"


class MethodNotAllowed(ServerError):
    """The route is there, with other methods."""

    code = "method_not_allowed"

    def __init__(self, message: str, allowed: Iterable[str]) -> None:
        """Say which methods the route has."""
        super().__init__(message)
        self.allowed = tuple(allowed)


class LifespanMissing(ServerError):
    """The server is mounted in another application, which does not run its lifespan."""

    code = "lifespan_missing"


class TokenNotFound(ServerError):
    """There is no access token of that id."""

    code = "token_not_found"


class LeaseTokenInvalid(ServerError):
    """A text is no token of a lease of this store, or its lease is of a queue that is not there for the caller."""

    code = "lease_token_invalid"


class TakenOver(ServerError):
    """The lease has ended, and another consumer has the message."""

    code = "taken_over"


class AlreadyGone(ServerError):
    """The lease has ended, and no other consumer has the message now."""

    code = "already_gone"


class PortInUse(ConfigurationError):
    """Another program listens on that port already."""

    code = "port_in_use"


class Unprotected(ConfigurationError):
    """Other machines could reach the server, and nothing protects it."""

    code = "unprotected"
