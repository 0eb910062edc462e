"""The routes, one file a noun. Each file has its `ROUTES`; here they become one table."""

from tenure.server.route import Route
from tenure.server.routes import session, tokens

#: Every route below `/api/v1`.
ROUTES: tuple[Route, ...] = (*session.ROUTES, *tokens.ROUTES)
