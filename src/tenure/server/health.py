"""`/livez` and `/readyz`, for container managers and load balancers: no token, and nothing secret in the answer.

Alive: the process answers; one that is not is restarted. Ready: the store answers, the sweep is not late and the server
is not stopping; one that is not gets no requests until it is. The store and the sweep are judged by `rules/health.py`,
as for `tenure health`.
"""

import asyncio
import logging

import msgspec
from starlette.responses import Response

from tenure.errors import BrokerError
from tenure.rules.health import problems_of
from tenure.server.server import Server

logger = logging.getLogger("tenure.server")

#: The store must answer within this time.
_STORE_SECONDS = 5.0
#: An answer is repeated for this long: many probes cost the store nothing.
_FRESH_SECONDS = 1.0


class Readiness(msgspec.Struct, frozen=True):
    """The answer of `/readyz`."""

    ready: bool
    #: What is wrong, a clause each.
    problems: tuple[str, ...] = ()


class HealthChecks:
    """Answers probes."""

    def __init__(self, server: Server) -> None:
        """Check this server."""
        self._server = server
        self._found: tuple[float, Readiness] | None = None
        self._looking = asyncio.Lock()

    async def respond(self, name: str, *, is_started: bool) -> Response:
        """Answer a probe."""
        if name == "livez":
            return _json(200, {"alive": True})
        found = (
            await self.readiness() if is_started else Readiness(ready=False, problems=("the server is not started",))
        )
        return _json(200 if found.ready else 503, found)

    async def readiness(self) -> Readiness:
        """Look, at most once a second."""
        async with self._looking:
            now = self._server.app.clock.monotonic()
            if self._found is None or now - self._found[0] >= _FRESH_SECONDS:
                self._found = (now, await self._look())
            return self._found[1]

    async def _look(self) -> Readiness:
        server, answers = self._server, True
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await server.app.state.board.read()
        except (BrokerError, TimeoutError) as error:
            logger.warning("not ready: the store does not answer: %s", str(error) or "no answer in time")
            answers = False
        jobs = server.housekeeping
        # With a part that died nothing is known of the sweep: that is the news then.
        swept = None if jobs is None or server.failure is not None else jobs.is_swept
        problems = list(
            problems_of(store=answers, sweep=swept, late_seconds=0.0 if jobs is None else jobs.late_seconds)
        )
        if server.failure is not None:
            problems.append("a part of the server has died")
        if server.stopping.is_set():
            problems.append("the server is stopping")
        return Readiness(not problems, tuple(problems))


def _json(status: int, value: object) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
