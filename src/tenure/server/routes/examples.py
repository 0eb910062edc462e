"""Values that the examples of several routes have, as JSON."""

from typing import Any

NOW = 1767225600.0
ID = "019b75d1f8a04c1f9e2b7d3a5c6e8f01"
NEW_ID = "019b75d1f8a0b1946f0f5d0c2a7e9344"

#: Of a lease.
LEASE_TOKEN = "tnl_WyIwMTliNzVkMWY4YTA0YzFmIl0.5b1f0c2dHh3mYc2lnbmVkLWJ5LXRlbnVyZS1zaWduZWQtYnktdGVu"  # noqa: S105 - an example

FLOW: dict[str, Any] = {
    "in_per_second": 312.0, "out_per_second": 310.0, "p50_seconds": 0.02, "p95_seconds": 0.2, "error_share": 0.001,
    "lease_use": 0.01, "history": [310.0, 309.5],
}  # fmt: skip

LEASE: dict[str, Any] = {
    "id": ID, "queue": "acme-tasks", "task": "resize", "owner": "web-1:4242:9f31", "fence": 7, "attempt": 1,
    "leased_at": NOW - 10, "deadline": NOW + 20, "deadline_in": 20.0, "seconds": 30.0, "beats": 1,
    "last_beat_at": NOW - 1, "progress": {"fraction": 0.4, "note": "page 4 of 10"}, "size": None,
    "predicted_seconds": 12.0, "has_presence": True,
}  # fmt: skip

COUNTERS: dict[str, Any] = {"deliveries": 3, "attempts": 3, "crashes": 0, "lost": 0}

LISTED: dict[str, Any] = {
    "id": ID, "queue": "acme-tasks", "task": "resize", "state": "dead", "counters": COUNTERS, "owner": None,
    "fence": None, "deadline_in": None, "due_in": None, "age_seconds": 3600.0,
    "reason": {"code": "max_attempts", "text": "ValueError: no such image"}, "readable": True, "ticket": None,
    "finished_at": NOW - 60, "progress": None, "seconds": None, "sent_at": NOW - 3600, "priority": 5,
    "client": "acme", "key": None, "unreadable": "", "redacted": False,
}  # fmt: skip

BULK: dict[str, Any] = {
    "found": 1000, "done": 1000, "skipped": 0, "dry_run": False, "more": True, "ids": [ID],
    "kinds": {"resize (max_attempts)": 1000},
}  # fmt: skip
