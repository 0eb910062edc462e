"""The routes, one file a noun. Each file has its `ROUTES`; here they become one table."""

from tenure.server.events.routes import ROUTES as EVENT_ROUTES
from tenure.server.openapi.routes import reference_routes
from tenure.server.route import Route
from tenure.server.routes import (
    acts,
    dead,
    figures,
    leases,
    message_acts,
    messages,
    overview,
    queues,
    results,
    schedules,
    send,
    session,
    settings,
    stack,
    submit,
    tasks,
    tokens,
    workers,
)
from tenure.server.snapshots.routes import ROUTES as SNAPSHOT_ROUTES

_NOUNS = (
    overview, figures, queues, tasks, send, submit, messages, results, message_acts, stack, dead, leases, workers,
    schedules, acts, settings, tokens, session,
)  # fmt: skip
_ROUTES = (*(route for noun in _NOUNS for route in noun.ROUTES), *EVENT_ROUTES, *SNAPSHOT_ROUTES)

#: Every route below `/api/v1`.
ROUTES: tuple[Route, ...] = (*_ROUTES, *reference_routes(_ROUTES))
