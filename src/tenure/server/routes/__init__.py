"""The routes, one file a noun. Each file has its `ROUTES`; here they become one table."""

from tenure.server.events.routes import ROUTES as EVENT_ROUTES
from tenure.server.route import Route
from tenure.server.routes import session, tokens
from tenure.server.snapshots.routes import ROUTES as SNAPSHOT_ROUTES

#: Every route below `/api/v1`.
ROUTES: tuple[Route, ...] = (*session.ROUTES, *tokens.ROUTES, *EVENT_ROUTES, *SNAPSHOT_ROUTES)
