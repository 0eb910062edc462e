"""The picture as a JSON document, for programs: one snapshot. `null` is "cannot be known". Pure."""

import math
from typing import Any

import msgspec

from tenure.cli.top.headline import headline
from tenure.cli.top.picture import Picture, QueueRow, TaskRow


def document(picture: Picture) -> dict[str, Any]:
    """Everything that the screen shows."""
    told = headline(picture)
    return {
        "now": picture.now,
        "headline": {"mood": told.mood, "text": told.text},
        "window_seconds": picture.window_seconds,
        "total": {
            "waiting": picture.waiting, "running": picture.running, "dead": picture.dead,
            "oldest_seconds": picture.oldest_seconds, "workers": len(picture.alive), "flow": picture.total,
        },
        "queues": [_row(one) for one in picture.queues],
        "tasks": [_row(one) for one in picture.tasks],
        "leases": picture.leases,
        "leases_cut": picture.leases_cut,
        "workers": picture.workers,
        "last_sweep_at": picture.last_sweep_at,
        "next_sweep_at": picture.next_sweep_at,
    }  # fmt: skip


def _row(row: QueueRow | TaskRow) -> dict[str, Any]:
    """Infinity is no JSON: `grows` says it."""
    shown = msgspec.structs.asdict(row)
    drains = shown["drains_in_seconds"]
    is_growing = drains is not None and math.isinf(drains)
    return shown | {
        "drains_in_seconds": None if is_growing else drains,
        "grows": None if drains is None else is_growing,
    }
