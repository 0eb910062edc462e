"""Snapshots over HTTP: answered from memory within the interval, and with 304 where nothing changed."""

from collections.abc import Callable

from tenure.client.operations.overview.rows import Overview
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.snapshots.encoded_part import encode_part
from tenure.server.snapshots.entity_tag import AnySnapshot, matches
from tenure.server.snapshots.parts import (
    LeasesSnapshot,
    OverviewSnapshot,
    QueuesSnapshot,
    SnapshotTimes,
    leases_of,
    overview_of,
    queues_of,
    times_of,
)


async def get_overview(ask: Ask[None, None]) -> Reply:
    """Return the overview."""
    return await _reply(ask, overview_of)


async def get_queues(ask: Ask[None, None]) -> Reply:
    """Every queue."""
    return await _reply(ask, queues_of)


async def get_leases(ask: Ask[None, None]) -> Reply:
    """Return every lease."""
    return await _reply(ask, leases_of)


async def _reply(ask: Ask[None, None], part: Callable[[Overview, SnapshotTimes], AnySnapshot]) -> Reply:
    snapshots = ask.server.snapshots
    overview = await snapshots.view(ask.operate.access)
    times = times_of(overview, ask.app.state.wall(), snapshots.next_in())
    encoded = snapshots.made_of(overview, part, lambda: encode_part(part(overview, times), ask.server.redaction.redact))
    # Kept by the client, and asked for again each time.
    headers = {"ETag": encoded.tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
    if matches(ask.request.headers.get("if-none-match"), encoded.tag):
        return Reply(status=304, headers=headers)
    return Reply(value=encoded.body(times), headers=headers)


_DESCRIPTION = (
    "Made once for all viewers: every second on SQLite and Redis, every 15 s in the cloud, and only while a viewer "
    "is connected. `next_snapshot_in` says when to ask again; with `If-None-Match` the answer is 304 where nothing "
    "changed "
    "but the time."
)
_TIMES = {
    "server_now": 1767225600.5, "made_at": 1767225600.0, "next_snapshot_in": 0.5, "last_sweep_at": 1767225598.0,
    "next_sweep_at": 1767225603.0,
}  # fmt: skip
_FLOW = {
    "in_per_second": 312.0, "out_per_second": 310.0, "p50_seconds": 0.02, "p95_seconds": 0.2, "error_share": 0.001,
    "lease_use": 0.01, "history": [],
}  # fmt: skip
_QUEUE = {
    "queue": "mail", "waiting": 40, "delayed": 0, "running": 8, "dead": 0, "estimated": False, "oldest_seconds": 2.0,
    "drains_in_seconds": None, "grows": True, "workers": 4, "paused": None, "limit": None,
    "flow": _FLOW,
}  # fmt: skip
_LEASE = {
    "id": "0197b2c0", "queue": "mail", "task": "deliver", "owner": "worker-1/4f2a", "fence": 7, "attempt": 1,
    "leased_at": 1767225590.0, "deadline": 1767225620.0, "deadline_in": 19.5, "seconds": 30.0, "beats": 1,
    "last_beat_at": 1767225600.0, "progress": None, "size": None, "predicted_seconds": 12.0, "has_presence": True,
}  # fmt: skip

ROUTES = (
    Route(
        method="GET", path="/snapshots/overview", scope=AccessScope.READ, handler=get_overview, answer=OverviewSnapshot,
        summary="See the overview", description=_DESCRIPTION, is_tagged=True,
        example={
            **_TIMES, "headline": {"mood": "well", "text": "All well: 312/s in, 310/s out, oldest 2 s, 4 workers"},
            "window_seconds": 60.0,
            "total": {"waiting": 40, "running": 8, "dead": 0, "oldest_seconds": 2.0, "workers": 4, "flow": _FLOW},
            "queue_count": 1, "queues": [_QUEUE], "task_count": 0, "tasks": [], "lease_count": 1,
            "leases": [_LEASE],
        },
    ),
    Route(
        method="GET", path="/snapshots/queues", scope=AccessScope.READ, handler=get_queues, answer=QueuesSnapshot,
        summary="See every queue with its rates", description=_DESCRIPTION, is_tagged=True,
        example={**_TIMES, "window_seconds": 60.0, "queues": [_QUEUE]},
    ),
    Route(
        method="GET", path="/snapshots/leases", scope=AccessScope.READ, handler=get_leases, answer=LeasesSnapshot,
        summary="See what is held now, soonest end first", description=_DESCRIPTION, is_tagged=True,
        example={**_TIMES, "leases": [_LEASE], "is_cut": False},
    ),
)  # fmt: skip
