"""Running an application in a process of its own: a socket, uvicorn, and a graceful end. Used by `tenure serve`.

The first SIGTERM or Ctrl-C ends streams with a hint to come back, lets requests finish within the grace and closes the
store; a second one ends at once.
"""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Generator

import uvicorn

from tenure.errors import ConfigurationError
from tenure.server.application import Application
from tenure.server.errors import PortInUse, Unprotected
from tenure.server.web_protocol import WebProtocol

logger = logging.getLogger("tenure.server")

_BACKLOG = 2048
#: An idle connection is kept for this long, so that browsers and clients need not connect again each time.
_KEEP_ALIVE_SECONDS = 15
#: Connections that are open beside those of requests and streams.
_SPARE_CONNECTIONS = 1_000
#: The headers of a request, the first line included.
_MOST_HEADER_BYTES = 65_536


def bind(host: str, port: int) -> socket.socket:
    """Listen. Raises `PortInUse`, or `ConfigurationError` where the host is not an address of this machine."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        msg = f"{host!r} is not an address of this machine ({error}); nothing was started. Use --host 127.0.0.1"
        raise ConfigurationError(msg) from error
    family, kind, protocol, _, address = found[0]
    # With the protocol: asyncio sets TCP_NODELAY only where a socket names it. Without, the end of an answer waits for
    # the client to acknowledge its head, which takes 40 ms.
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            msg = f"port {port} of {host} is in use by another program; nothing was started. Use --port, or stop it"
            raise PortInUse(msg) from error
        msg = f"cannot listen on {host} port {port}: {error.strerror}; nothing was started"
        raise ConfigurationError(msg) from error
    sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
    return sock


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that is bound to `host`."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return False
    return all(ipaddress.ip_address(str(one[4][0])).is_loopback for one in found)


def address_of(sock: socket.socket, host: str) -> str:
    """The URL at which a browser finds it."""
    port = sock.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def check_protected(application: Application, host: str) -> None:
    """Raise `Unprotected` if other machines can reach it and nothing protects it. The store is open."""
    if is_loopback(host) or await application.server.authentication.is_protected():
        return
    msg = (
        f"other machines can reach {host}, and no access token was ever made here; nothing was started. "
        "Make one first: tenure token create NAME --scope read; or use --auth, or --host 127.0.0.1"
    )
    raise Unprotected(msg)


class WebServer(uvicorn.Server):
    """uvicorn, with Tenure's way of stopping."""

    def __init__(
        self,
        application: Application,
        grace_seconds: float,
        on_started: Callable[[], None],
        on_stopping: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve `application`, whose lifespan runs already."""
        options, settings = application.server.options, application.server.app.settings
        config = uvicorn.Config(
            application,
            http=WebProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.server_proxies),
            forwarded_allow_ips=",".join(settings.server_proxies),
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=max(1, round(grace_seconds)),
            limit_concurrency=options.most_requests + options.most_streams + _SPARE_CONNECTIONS,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        )
        super().__init__(config)
        self._application = application
        self._on_started = on_started
        self._on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """A server that lost a part must not look alive."""
        return await super().on_tick(counter) or self._application.server.failure is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams end first: uvicorn waits for them."""
        self._application.server.stopping.set()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take SIGTERM and SIGINT over. uvicorn's own way ends the process by the signal, as if it had been killed."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        if self.should_exit:
            logger.info("stopping now")
            self.force_exit = True
        else:
            logger.info("stopping: streams end, requests finish; again to stop now")
            self.should_exit = True
            self._on_stopping()


async def serve(
    application: Application,
    sock: socket.socket,
    host: str,
    grace_seconds: float,
    on_started: Callable[[], None],
    on_stopping: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal. Raises what a part of the server died of."""
    with contextlib.closing(sock):
        async with application.lifespan():
            await check_protected(application, host)
            await WebServer(application, grace_seconds, on_started, on_stopping).serve([sock])
            if application.server.failure is not None:
                raise application.server.failure
