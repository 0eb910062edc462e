"""The server: what all requests of one process share, from the lifespan's begin to its end.

`application.py` makes one for each application and starts it in its lifespan; handlers get it as `ask.server`. What a
part of the server needs for all viewers together (the tail of the journal, snapshots) is made here.
"""

import asyncio
import contextlib
import logging

from tenure.app import Tenure
from tenure.client.operations.operate import Operate
from tenure.client.signing import Signing
from tenure.server.authentication import Authentication
from tenure.server.consumers.consumers import Consumers
from tenure.server.events.viewers import Viewers
from tenure.server.housekeeping import Housekeeping
from tenure.server.options import ServerOptions
from tenure.server.principal import AccessScope, Principal
from tenure.server.redaction import Redaction
from tenure.server.session import Sessions
from tenure.server.shared_reading import SharedReading
from tenure.server.snapshots.snapshots import Snapshots
from tenure.server.stopping import watch_for_stop
from tenure.server.stream_slots import StreamSlots
from tenure.server.tokens import Tokens
from tenure.server.waiting_slots import WaitingSlots
from tenure.server.watch_links import WatchLinks

logger = logging.getLogger("tenure.server")


class Server:
    """One process that serves one app."""

    def __init__(self, app: Tenure, options: ServerOptions) -> None:
        """Serve `app`; it is opened when the server starts."""
        self.app = app
        self.options = options
        self.tokens = Tokens(app, writes=not options.view)
        #: Signs what the server hands out.
        self.signing = Signing(app.state, app.clock, app.settings, writes=not options.view)
        self.watch_links = WatchLinks(app, self.signing)
        self.sessions = Sessions(app, self.tokens, self.signing, options.base_path)
        self.authentication = Authentication(app, self.tokens, self.sessions, options)
        #: What is never shown. `encode.py` redacts replies; a stream redacts its own events.
        self.redaction = Redaction(app.settings.server_redact)
        #: Of results, which programs read: they get what `handle.result()` gets, but for what an operator named.
        self.result_redaction = Redaction(app.settings.server_redact if "server_redact" in app.origins else ())
        self.streams = StreamSlots(options.most_streams)
        self.waiting = WaitingSlots(options.most_requests // 2)
        #: Who has a stream open, and what all of them share.
        self.viewers = Viewers(app, self.redaction.redact)
        self.snapshots = Snapshots(app)
        #: How many messages all queues hold, for the list of them.
        self.depths = SharedReading(app.broker.depth, app.clock)
        #: What is paused, likewise.
        self.notices = SharedReading(app.state.board.read, app.clock)
        #: Set when the process is asked to stop: streams end with a hint to come back.
        self.stopping = asyncio.Event()
        self.housekeeping: Housekeeping | None = None
        self._consumers: Consumers | None = None
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
        self._consumers = Consumers(self.app, self.signing, self.housekeeping.statistics, self.housekeeping.publish)
        await self._consumers.start()

    async def stop(self) -> None:
        """End streams and what runs beside requests, and close the store unless other code opened it."""
        self.stopping.set()
        self.viewers.end()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        async with contextlib.AsyncExitStack() as stack:
            if not self._was_open:
                stack.push_async_callback(self.app.close)
            stack.push_async_callback(self.tokens.close)
            if self.housekeeping is not None:
                stack.push_async_callback(self.housekeeping.stop)
            if self._consumers is not None:
                stack.push_async_callback(self._consumers.stop)

    @property
    def consumers(self) -> Consumers:
        """What leases messages to programs over HTTP; only while the server runs."""
        if self._consumers is None:
            msg = "the server has not started"
            raise RuntimeError(msg)
        return self._consumers

    @property
    def failure(self) -> BaseException | None:
        """The error that ended a part of the server. None: all parts are alive."""
        return None if self.housekeeping is None else self.housekeeping.failure

    def outdate_queues(self) -> None:
        """A queue was changed here: the list of queues shows it to the next who asks."""
        self.depths.outdate()
        self.notices.outdate()
        if self._consumers is not None:
            self._consumers.choice.outdate()

    def operate_for(self, principal: Principal, source: str) -> Operate:
        """Looks and acts in the name of a principal, on the queues that exist for it."""
        return self.app.operate.bound(
            by=principal.name,
            triggered_by="http",
            source=source,
            queues=principal.queues,
            sees_payload=principal.may(AccessScope.PAYLOAD),
        )
