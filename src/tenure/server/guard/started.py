"""A server whose lifespan does not run has no store: it says so, instead of failing somewhere inside."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.server.errors import LifespanMissing
from tenure.server.guard.request_path import is_probe


class Started:
    """Refuses requests before the lifespan has begun, and after it has ended."""

    def __init__(self, app: ASGIApp, is_started: Callable[[], bool]) -> None:
        """Guard `app`."""
        self._app = app
        self._is_started = is_started

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if not self._is_started() and not is_probe(scope):
            msg = (
                "the server's lifespan has not started: an application does not run the lifespans of those mounted "
                "in it. "
                "Add `async with server.lifespan():` to the lifespan of the outer application"
            )
            raise LifespanMissing(msg)
        await self._app(scope, receive, send)
