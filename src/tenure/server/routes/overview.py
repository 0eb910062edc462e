"""The overview: everything of one moment, and whether work flows."""

import msgspec

from tenure.client.operations.overview.rows import Overview
from tenure.errors import UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import FLOW, LEASE, NOW


class OverviewQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which queues."""

    #: Names, or patterns such as `acme-*`; repeat it for more. Default: every queue.
    queue: tuple[str, ...] = ()


async def get_overview(ask: Ask[OverviewQuery, None]) -> Reply:
    """How it goes."""
    return Reply(value=await ask.operate.overview(ask.query.queue))


ROUTES = (
    Route(
        method="GET", path="/overview", scope=AccessScope.READ, handler=get_overview, query=OverviewQuery,
        answer=Overview, summary="Show the overview",
        description=(
            "One sentence, the queues and tasks with their rates of the last minute, what is held now, workers and "
            "sweeps. The store is read for each request; programs that ask each second use `/snapshots/overview`, "
            "which is read once for all."
        ),
        example={
            "now": NOW, "headline": {"mood": "well", "text": "All well: 312/s in, 310/s out, oldest 2 s, 4 workers"},
            "window_seconds": 60.0,
            "total": {"waiting": 40, "running": 8, "dead": 0, "oldest_seconds": 2.0, "workers": 4, "flow": FLOW},
            "queues": [{
                "queue": "acme-tasks", "waiting": 40, "delayed": 0, "running": 8, "dead": 0, "estimated": False,
                "oldest_seconds": 2.0, "drains_in_seconds": None, "grows": True, "workers": 4, "paused": None,
                "limit": None, "flow": FLOW,
            }],
            "tasks": [{
                "queue": "acme-tasks", "task": "resize", "running": 8, "waiting": 40, "oldest_seconds": 2.0,
                "drains_in_seconds": None, "grows": True, "flow": FLOW,
            }],
            "leases": [LEASE], "leases_cut": False,
            "workers": [{
                "id": "web-1:4242:9f31", "name": "web-1:4242", "host": "web-1", "pid": 4242, "started_at": NOW - 3600,
                "queues": ["acme-tasks"], "slots": 10, "holds": 1, "deadline": NOW + 20, "silent_seconds": 0.4,
                "gone": "", "has_presence": True,
            }],
            "last_sweep_at": NOW - 3, "next_sweep_at": NOW + 2,
        },
        errors=(UnknownQueue,), is_tagged=True,
    ),
)  # fmt: skip
