"""The options of a server. Made by `asgi` from its arguments and the settings; read by the guard and the routes."""

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request

from tenure.server.principal import Principal

#: Authenticates a request. Returns None to refuse it. May be async.
Authenticate = Callable[[Request], Awaitable[Principal | None] | Principal | None]


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a server."""

    authenticate: Authenticate | None = None
    #: View only: no sweeps, no writes, every act is refused.
    view: bool = False
    #: Refuse every act, but sweep.
    read_only: bool = False
    #: Where browsers find it behind a proxy, such as `/tenure`. Empty: at the root.
    base_path: str = ""
    #: Whether programs on this machine need no token although there are tokens.
    open_on_loopback: bool = False
    #: Names by which clients may call it, besides those of loopback. None: any, because a hook decides who asks.
    hosts: tuple[str, ...] | None = ()
    #: Whether clients may call it by any address, because other machines may ask.
    any_address: bool = False
    #: Origins whose pages may use watch links, such as `https://app.example.com`.
    origins: tuple[str, ...] = ()
    #: The largest body of a request, in bytes.
    body_limit: int = 8 * 1024 * 1024
    #: This many requests are worked on at once, and this many streams may be open.
    most_requests: int = 200
    most_streams: int = 500

    @property
    def refuses_acts(self) -> bool:
        """Whether nothing can be changed through it."""
        return self.view or self.read_only
