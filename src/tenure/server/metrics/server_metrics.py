"""Answers `GET /metrics`.

Who may look at everything may read it: a token with the scope `read` for all queues, or a program of this machine while
there is no token. The store is read as for any other viewer, at most once an interval; while it is away the other
figures are answered, and `tenure_store_up` is 0.
"""

import asyncio
import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from tenure.errors import BrokerError
from tenure.monitoring.metrics.bounded import BoundedLabels, BoundedNames
from tenure.monitoring.metrics.exposition import OPENMETRICS, TEXT, render, wants_openmetrics
from tenure.monitoring.metrics.sample import Sample
from tenure.runtime.background.worker_metrics import process_samples
from tenure.runtime.background.worker_reports import tenure_version
from tenure.server.errors import ForbiddenScope
from tenure.server.guard.request_log import note_of
from tenure.server.metrics.http_counts import HttpCounts
from tenure.server.metrics.store_samples import store_samples
from tenure.server.principal import AccessScope
from tenure.server.server import Server
from tenure.tasks.expected_wait import expected_waits

logger = logging.getLogger("tenure.server")

#: The store must answer within this time; a scraper waits for ten seconds, as a rule.
_STORE_SECONDS = 5.0


class ServerMetrics:
    """The metrics of one server."""

    def __init__(self, server: Server, http: HttpCounts, running: Callable[[], int]) -> None:
        """Answer for this server. `running`: how many requests are worked on."""
        self._running = running
        self._server = server
        self._http = http
        most = server.app.settings.metrics_label_values
        self._bounds = BoundedLabels(most)
        self._queues = BoundedNames(most)

    async def respond(self, request: Request) -> Response:
        """Answer a scrape. Raises what `identify` raises."""
        principal = await self._server.authentication.identify(request)
        note_of(request.scope).principal = principal.name
        if not principal.may(AccessScope.READ) or not principal.sees_every_queue:
            msg = (
                f"metrics are of all queues: they need the scope 'read' for every queue, which {principal.name} has not"
            )
            raise ForbiddenScope(msg)
        openmetrics = wants_openmetrics(request.headers.get("accept", ""))
        text = render(await self.samples(), openmetrics=openmetrics)
        return Response(text, media_type=None, headers={
            "content-type": OPENMETRICS if openmetrics else TEXT, "cache-control": "no-store",
        })  # fmt: skip

    async def samples(self) -> list[Sample]:
        """Everything, as of now."""
        server = self._server
        jobs = server.housekeeping
        found = self._http.samples() + process_samples() + await self._store()
        found += [] if jobs is None else jobs.metrics(self._bounds)
        if jobs is None or jobs.is_swept is None:
            found.append(Sample("tenure_sweep_interval_seconds", (), server.app.settings.sweep_interval_seconds))
        return [
            *found,
            Sample("tenure_http_requests_running", (), self._running()),
            Sample("tenure_http_streams_open", (), server.streams.in_use),
            Sample("tenure_http_polls_waiting", (), server.waiting.in_use),
            Sample("tenure_server_info", (tenure_version() or "",), 1),
            Sample("tenure_clock_skew_seconds", (), server.app.clock.wall() - server.app.state.wall()),
        ]

    async def _store(self) -> list[Sample]:
        snapshots = self._server.snapshots
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                snapshot = await snapshots.current()
        except (BrokerError, TimeoutError) as error:
            logger.debug("a scrape has no figures of the store: %s", str(error) or "no answer in time")
            return [Sample("tenure_store_up", (), 0)]
        found = store_samples(snapshot.overview, self._queues, expected_waits(self._server.app.tasks.values()))
        found.append(Sample("tenure_store_up", (), 1))
        if snapshots.took_seconds is not None:
            found.append(Sample("tenure_store_read_seconds", (), snapshots.took_seconds))
        return found
