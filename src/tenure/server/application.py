"""The ASGI application: what `tenure serve` runs, and what is mounted in an application of one's own.

    server = tenure.server.asgi("sqlite:///jobs.db")

    @asynccontextmanager
    async def lifespan(web):
        async with server.lifespan():
            yield

    web = FastAPI(lifespan=lifespan)        # a mounted application's lifespan is not run: so it is run here
    web.mount("/tenure", server)

Run by itself (`uvicorn module:server`), it runs its own lifespan. Before: the web server. After: `guard/`, then
`dispatch.py`.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.app import Tenure
from tenure.errors import ConfigurationError
from tenure.server.dispatch import PREFIX, Dispatch
from tenure.server.errors import MethodNotAllowed, RouteNotFound
from tenure.server.guard.body import Body
from tenure.server.guard.cross_origin import CrossOriginLinks
from tenure.server.guard.headers import SecurityHeaders
from tenure.server.guard.host import HostCheck
from tenure.server.guard.load import Load
from tenure.server.guard.origin import OriginCheck
from tenure.server.guard.problems import Problems
from tenure.server.guard.proxy import ProxyCheck
from tenure.server.guard.request_log import RequestLog, note_of
from tenure.server.guard.request_path import is_probe, segments_of, set_base_path
from tenure.server.guard.sizes import Sizes
from tenure.server.guard.started import Started
from tenure.server.health import HealthChecks
from tenure.server.metrics.http_counts import HttpCounts
from tenure.server.metrics.server_metrics import ServerMetrics
from tenure.server.options import Authenticate, ServerOptions
from tenure.server.route import Route
from tenure.server.route_table import RouteTable
from tenure.server.routes import ROUTES
from tenure.server.runbook_pages import RunbookPages
from tenure.server.server import Server
from tenure.server.static_files import StaticFiles

_LOOKS = ("GET", "HEAD")
#: For scrapers, at the root as they expect it.
METRICS = "metrics"


def asgi(
    app_or_url: Tenure | str,
    *,
    authenticate: Authenticate | None = None,
    view: bool = False,
    read_only: bool = False,
    base_path: str = "",
    open_on_loopback: bool = False,
    hosts: Sequence[str] | None = None,
    any_address: bool | None = None,
) -> "Application":
    """Make an ASGI application that serves an app, or the store at a URL.

    - `authenticate`: Authenticates a request: returns a `Principal`, or None to refuse. May be async. Without it
      access tokens count.
    - `view`: Only look: nothing is swept, nothing is written, every act is refused.
    - `read_only`: Every act is refused.
    - `base_path`: The path at which a proxy serves it, as in `/tenure`. Not needed for a mount.
    - `open_on_loopback`: Programs on this machine need no token, also after one was made.
    - `hosts`: Names by which clients call it, besides those of loopback and `TENURE_SERVER_HOSTS`; `*` matches any
      characters. Default: any if there is `authenticate`, else none.
    - `any_address`: Whether clients may call it by any IP address too. Default: yes, if there is `authenticate`.
    """
    app = Tenure(app_or_url, must_exist=view) if isinstance(app_or_url, str) else app_or_url
    settings = app.settings
    named = (*(hosts or ()), *settings.server_hosts)
    options = ServerOptions(
        authenticate=authenticate,
        view=view,
        read_only=read_only,
        base_path=_base_path(base_path),
        open_on_loopback=open_on_loopback,
        hosts=None if authenticate is not None and not named else named,
        any_address=authenticate is not None if any_address is None else any_address,
        origins=settings.server_origins,
        body_limit=settings.server_body_limit,
        most_requests=settings.server_most_requests,
        most_streams=settings.server_most_streams,
    )
    return Application(Server(app, options))


class Application:
    """One app, served. Made by `asgi`."""

    def __init__(self, server: Server, routes: Iterable[Route] = ROUTES) -> None:
        """Serve `routes`; the lifespan opens the server."""
        self.server = server
        self.table = RouteTable(routes)
        self._started = 0
        self._health = HealthChecks(server)
        self._dispatch = Dispatch(self.table, server)
        self._static = StaticFiles()
        self._runbooks = RunbookPages()
        self._counts = HttpCounts()
        self._metrics = ServerMetrics(server, self._counts, lambda: self._load.running)
        self._guarded = self._guard(self._route)

    @contextlib.asynccontextmanager
    async def lifespan(self, _web: object = None) -> AsyncIterator[None]:
        """Open the store, and run what runs beside requests, for as long as it is entered."""
        if self._started:
            msg = "the server runs already; its lifespan is entered once in each process. Nothing was started"
            raise ConfigurationError(msg)
        exporting = self._exporting()  # a target that is none is refused before anything starts
        self._started += 1
        try:
            await self.server.start()
            async with exporting:
                yield
        finally:
            self._started -= 1
            await self.server.stop()

    def _exporting(self) -> contextlib.AbstractAsyncContextManager[object]:
        """Writes metrics for CloudWatch, where the settings say where to."""
        emf = self.server.app.settings.emf
        if not emf:
            return contextlib.nullcontext()
        from tenure.monitoring.cloudwatch.emf_export import EmfExport  # noqa: PLC0415 - most servers write none

        return EmfExport(emf, self._metrics.samples)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or the lifespan where this application is run by itself."""
        match scope["type"]:
            case "http":
                set_base_path(scope, self.server.options.base_path)
                await self._guarded(scope, receive, send)
            case "lifespan":
                await self._run_lifespan(receive, send)
            case "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1003})

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        has_begun = False
        try:
            async with self.lifespan():
                has_begun = True
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:
            part = "shutdown" if has_begun else "startup"
            await send({"type": f"lifespan.{part}.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    def _guard(self, app: ASGIApp) -> ASGIApp:
        """The middlewares, the innermost first."""
        server, options, clock = self.server, self.server.options, self.server.app.clock
        app = Body(app, clock, options.body_limit)
        app = self._load = Load(app, options.most_requests)
        app = ProxyCheck(app, server.authentication.is_protected)
        app = OriginCheck(app)
        app = HostCheck(app, options.hosts, any_address=options.any_address)
        app = Sizes(app)
        app = Started(app, lambda: bool(self._started))
        app = Problems(app)
        app = CrossOriginLinks(app, options.origins)
        app = SecurityHeaders(app)
        return RequestLog(app, clock, self._counts.note)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        segments = segments_of(scope)
        if is_probe(scope):
            if scope["method"] not in _LOOKS:
                msg = f"a probe is read-only; its methods are {' and '.join(_LOOKS)}"
                raise MethodNotAllowed(msg, _LOOKS)
            note_of(scope).route = f"/{segments[0]}"
            response = await self._health.respond(segments[0], is_started=bool(self._started))
            await response(scope, receive, send)
            return
        if segments == [METRICS]:
            note_of(scope).route = f"/{METRICS}"
            if scope["method"] not in _LOOKS:
                msg = f"metrics are read-only; their methods are {' and '.join(_LOOKS)}"
                raise MethodNotAllowed(msg, _LOOKS)
            response = await self._metrics.respond(Request(scope, receive))
            await response(scope, receive, send)
            return
        if self._runbooks.has(scope["method"], segments):
            note_of(scope).route = "/runbooks/{id}"
            response = await self._runbooks.respond(Request(scope, receive), segments)
            await response(scope, receive, send)
            return
        if self._static.has(scope["method"], segments):
            note_of(scope).route = "static"
            response = await self._static.respond(Request(scope, receive), segments)
            await response(scope, receive, send)
            return
        if tuple(segments[: len(PREFIX)]) != PREFIX:
            msg = "there is nothing at this path; the routes are below /api/v1"
            raise RouteNotFound(msg)
        await self._dispatch(scope, receive, send)


def _base_path(path: str) -> str:
    path = path.rstrip("/")
    if path and (not path.startswith("/") or not path.isprintable() or any(one in path for one in '?#;," %')):
        msg = f"base path {path!r} is not valid; write it as /tenure. Nothing was started"
        raise ConfigurationError(msg)
    return path
