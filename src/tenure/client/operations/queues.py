"""Queues: how much lies in each, and what can be done to a whole queue."""

from collections.abc import Sequence

import msgspec

from tenure.client.operations.operations import Operations
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.operating import PURGEABLE


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How much lies in one queue. None: the broker cannot say."""

    queue: str
    ready: int | None
    delayed: int | None
    leased: int | None
    dead: int | None
    #: Of what has been ready for longest.
    oldest_age_seconds: float | None
    #: The figures are estimates.
    estimated: bool = False
    paused: Pause | None = None


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """The queues in which something lies, and those that are paused, by name."""

    queues: tuple[QueueStatus, ...]


class QueueChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a queue."""

    queue: str
    #: False: it was so before.
    changed: bool


class PurgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge removed, or would have."""

    queue: str
    #: Messages that were removed.
    purged: int
    #: By state, how many there were to remove. None: the broker cannot say.
    would: dict[str, int | None]
    dry_run: bool
    #: More is there; the same call goes on.
    more: bool = False


class QueueOperations(Operations):
    """What can be asked of and done to queues."""

    async def queues(self) -> QueueList:
        """Return how much lies in each queue: those with something in them, and those that are paused."""
        raise NotImplementedError

    async def queue(self, name: str) -> QueueStatus:
        """Return how much lies in one queue. Raises `UnknownQueue`."""
        raise NotImplementedError

    async def pause(self, queue: str, *, must_exist: bool = True) -> QueueChange:
        """Let workers lease nothing from a queue, until it is resumed; what runs goes on. Raises `UnknownQueue`.

        - `must_exist`: False: also a queue that nobody knows yet.
        """
        raise NotImplementedError

    async def resume(self, queue: str) -> QueueChange:
        """Let workers lease from a queue again. Raises `UnknownQueue`."""
        raise NotImplementedError

    async def purge(
        self, queue: str, states: Sequence[MessageState | str] = PURGEABLE[:2], *, dry_run: bool = False,
        limit: int = 100_000,
    ) -> PurgeResult:  # fmt: skip
        """Remove what waits in a queue, batch by batch; a record of each message stays.

        - `states`: Of `ready`, `delayed`, `dead`; default: the first two. What runs is cancelled, not purged.
        - `dry_run`: Only count.
        - `limit`: Stop after about so many; the same call goes on.
        """
        raise NotImplementedError

    async def delete_queue(self, name: str) -> QueueChange:
        """Take an empty queue off the list. Raises `QueueNotEmpty` if anything is in it, and `UnknownQueue`.

        Nothing is lost: a message that is sent to it makes it anew.
        """
        raise NotImplementedError
