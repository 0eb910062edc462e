"""Acts: who did what to messages, queues and schedules, when, and through which door. Kept for 400 days."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.client.operations.operations import Operations


class ActEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One act, with its place in the log."""

    #: Its place in the log; grows.
    seq: int
    #: The kind of its event, such as `cancelled` or `paused`.
    kind: str
    at: float
    #: Who; empty: unknown.
    by: str
    #: Through which door: `cli`, `api`, `http`, `dashboard`.
    triggered_by: str
    #: The address of an HTTP client; empty: this machine.
    source: str
    queue: str | None
    #: Messages that it changed.
    count: int
    #: The first 100 of them.
    ids: tuple[str, ...]
    #: What else there is to say.
    data: dict[str, Any]


class ActList(msgspec.Struct, frozen=True, kw_only=True):
    """Acts, newest first."""

    acts: tuple[ActEntry, ...]
    #: Older ones: ask again with this as `before`. None: there are none.
    before: int | None = None


class ActOperations(Operations):
    """What can be asked of the audit log."""

    async def acts(
        self, before: int = 0, limit: int = 50, *, by: str | None = None, kinds: Sequence[str] = (),
        queues: Sequence[str] = (),
    ) -> ActList:  # fmt: skip
        """Return the newest acts before a place in the log (0: of all).

        - `by`: Of them only: a part of a name will do.
        - `kinds`: Of these kinds only.
        - `queues`: On these queues only: names, or patterns.
        """
        raise NotImplementedError
