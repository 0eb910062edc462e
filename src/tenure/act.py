"""An act: something that a person or a program did to messages, queues or schedules from outside.

Acts are kept in the audit log (`state.ActLog`), apart from the journal and for longer (400 days), so that "who purged
that queue in spring" can be answered. Written by `client/operator.py` after the act took effect.
"""

from typing import Any

import msgspec

#: An act is kept for this many seconds: 400 days.
KEPT_SECONDS = 400 * 86_400.0
#: An act names no more messages than this; `count` counts all of them.
MOST_IDS = 100

#: The kind of an act that changed nothing, and is no event: a handler's stack was read.
STACK_READ = "stack_read"
#: The kinds of acts on one worker, named in `data["worker"]`. That it left is an event, `owner_left`.
WORKER_DRAINED, WORKER_STOPPED = "worker_drained", "worker_stopped"
#: The weight of a client was set or cleared (`data["weight"]`, null: cleared). Its queue is that of the act.
CLIENT_WEIGHED = "client_weighed"
#: The secret of the store, which signs sessions, lease tokens and watch links, was replaced.
SECRET_ROTATED = "secret_rotated"  # noqa: S105 - the kind of an act
#: The kinds of acts on one webhook endpoint, named in `data["endpoint"]`.
ENDPOINT_ADDED, ENDPOINT_CHANGED = "webhook_endpoint_added", "webhook_endpoint_changed"
ENDPOINT_ROTATED, ENDPOINT_REMOVED = "webhook_endpoint_rotated", "webhook_endpoint_removed"
ENDPOINT_DISABLED, ENDPOINT_ENABLED = "webhook_endpoint_disabled", "webhook_endpoint_enabled"
ENDPOINT_TESTED = "webhook_endpoint_tested"


class Act(msgspec.Struct, frozen=True, omit_defaults=True):
    """One act. `kind` is the kind of its event, such as `cancelled` or `paused`, or one of those above."""

    kind: str
    #: Wall time.
    at: float
    #: Who: a user and host, the name of a token, a hook's principal.
    by: str = ""
    #: How the act reached Tenure: `cli`, `api`, `http` or `dashboard`.
    triggered_by: str = ""
    #: Whence: the address of an HTTP client. Empty: this machine.
    source: str = ""
    queue: str | None = None
    #: Messages that it changed.
    count: int = 0
    #: The first `MOST_IDS` of them.
    ids: tuple[str, ...] = ()
    #: What else there is to say.
    data: dict[str, Any] = {}


class StoredAct(msgspec.Struct, frozen=True):
    """An act with its place in the log: page backwards with `ActLog.read(before=seq)`."""

    seq: int
    act: Act
