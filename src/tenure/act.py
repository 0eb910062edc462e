"""An act: something that a person or a program did to messages, queues or schedules from outside.

Acts are kept in the audit log (`state.ActLog`), apart from the journal and for longer (400 days), so that "who purged
that queue in spring" can be answered. Written by `operating.py` after the act took effect.
"""

from typing import Any

import msgspec

#: An act is kept for so many seconds: 400 days.
KEPT_SECONDS = 400 * 86_400.0
#: An act names no more messages than this; `count` counts all of them.
MOST_IDS = 100

#: The kind of an act that changed nothing, and is no event: a handler's stack was read.
STACK_READ = "stack_read"


class Act(msgspec.Struct, frozen=True, omit_defaults=True):
    """One act. `kind` is the kind of its event, such as `cancelled`, `redriven` or `paused`, or `STACK_READ`."""

    kind: str
    #: Wall time.
    at: float
    #: Who: a user and host, the name of a token, a hook's principal.
    by: str = ""
    #: Through which door: `cli`, `api`, `http`, `dashboard`.
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
