"""The server: what all requests of one process share, from the lifespan's begin to its end.

`application.py` makes one for each application and starts it in its lifespan; handlers get it as `ask.server`. What a
part of the server needs for all viewers together (the tail of the journal, snapshots) is made here.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request

from tenure.app import Tenure
from tenure.server.housekeeping import Housekeeping
from tenure.server.principal import Principal
from tenure.server.secret import Secret
from tenure.server.stopping import watch_for_stop
from tenure.server.stream_slots import StreamSlots
from tenure.server.tokens import Tokens

logger = logging.getLogger("tenure.server")

#: Says who asks. None: nobody that it knows. May be async.
Authenticate = Callable[[Request], Principal | None | Awaitable[Principal | None]]


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server serves. Made by `asgi` from its arguments and the settings."""

    authenticate: Authenticate | None = None
    #: Only look: sweep nothing, write nothing, refuse every act.
    view: bool = False
    #: Refuse every act, but sweep.
    read_only: bool = False
    #: Where browsers find it behind a proxy, such as `/tenure`. Empty: at the root.
    base_path: str = ""
    #: Whether programs on this machine need no token although there are tokens.
    open_on_loopback: bool = False
    #: Names by which clients may call it, besides those of loopback. None: any, because a hook decides who asks.
    hosts: tuple[str, ...] | None = ()
    #: Proxies that are believed when they say from where a request comes.
    body_limit: int = 8 * 1024 * 1024
    most_requests: int = 200
    most_streams: int = 500
    redact: tuple[str, ...] = ()

    @property
    def refuses_acts(self) -> bool:
        """Whether nothing can be changed through it."""
        return self.view or self.read_only


class Server:
    """One process that serves one app."""

    def __init__(self, app: Tenure, options: ServerOptions) -> None:
        """Nothing is opened yet."""
        self.app = app
        self.options = options
        self.tokens = Tokens(app, writes=not options.view)
        self.secret = Secret(app, writes=not options.view)
        self.streams = StreamSlots(options.most_streams)
        #: Set when the process is asked to stop: streams end with a hint to come back.
        self.stopping = asyncio.Event()
        self.housekeeping: Housekeeping | None = None
        self._was_open = False
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the store and begin to sweep."""
        self._was_open = self.app.is_open
        await self.app.open()
        self.stopping = asyncio.Event()
        self._watching = asyncio.create_task(watch_for_stop(self.stopping))
        self.housekeeping = Housekeeping(self.app, sweeps=not self.options.view)
        await self.housekeeping.start()

    async def stop(self) -> None:
        """End streams and what runs beside requests, and close the store unless somebody else opened it."""
        self.stopping.set()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        async with contextlib.AsyncExitStack() as stack:
            if not self._was_open:
                stack.push_async_callback(self.app.close)
            stack.push_async_callback(self.tokens.close)
            if self.housekeeping is not None:
                stack.push_async_callback(self.housekeeping.stop)

    def operate_for(self, principal: Principal, source: str) -> Any:
        """Looks and acts in the name of a principal."""
        return None
