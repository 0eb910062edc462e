"""The routes, one file a noun. Each file has its `ROUTES`; here they become one table."""

from tenure.server.events.routes import ROUTES as EVENT_ROUTES
from tenure.server.openapi.routes import reference_routes
from tenure.server.route import Route
from tenure.server.routes import (
    acts,
    clients,
    dead,
    doctor,
    figures,
    findings,
    groups,
    lease,
    leases,
    message_acts,
    message_events,
    messages,
    overview,
    queues,
    results,
    scaling,
    schedules,
    send,
    session,
    settings,
    settle,
    settle_one,
    stack,
    submit,
    tasks,
    timing,
    tokens,
    webhook_deliveries,
    webhook_endpoints,
    workers,
)
from tenure.server.snapshots.routes import ROUTES as SNAPSHOT_ROUTES

_NOUNS = (
    overview, figures, timing, scaling, queues, clients, tasks, send, submit, lease, settle, settle_one, messages,
    message_events, results, message_acts, groups, stack, dead, leases, workers, schedules, webhook_endpoints,
    webhook_deliveries, findings, doctor, acts, settings, tokens, session,
)  # fmt: skip
_ROUTES = (*(route for noun in _NOUNS for route in noun.ROUTES), *EVENT_ROUTES, *SNAPSHOT_ROUTES)

#: Every route below `/api/v1`.
ROUTES: tuple[Route, ...] = (*_ROUTES, *reference_routes(_ROUTES))
