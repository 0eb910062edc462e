"""Dead letters: list them, group them by what went wrong, send them back, move, edit or delete them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tenure.client.operations.bulk import MOST_AT_ONCE, BulkResult, Progressed
from tenure.client.operations.dead_groups import DeadGroups
from tenure.client.operations.messages import MessagePage
from tenure.client.operations.operations import Operations
from tenure.client.operations.resend import EditResult, MoveResult


class DeadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters. Where several things are given, all of them must hold."""

    #: Names, or patterns. Empty: every queue.
    queues: tuple[str, ...] = ()
    task: str | None = None
    #: The code of the reason, as in `max_attempts`.
    reason: str | None = None
    #: Those of one group (`DeadGroup.fingerprint`).
    fingerprint: str | None = None
    #: Unix seconds: died not before this.
    since: float | None = None
    #: And before this.
    before: float | None = None


class DeadOperations(Operations):
    """What can be asked of and done to dead letters."""

    async def dead(self, query: DeadQuery | None = None, *, limit: int = 50, after: str = "") -> MessagePage:
        """Return one page of dead letters with their reasons."""
        raise NotImplementedError

    async def dead_groups(self, query: DeadQuery | None = None, *, most: int = 10_000) -> DeadGroups:
        """Return dead letters grouped by what went wrong, the largest group first.

        A group has one task, one code, one class of exception and one place in your own code. Numbers and ids in the
        sentence do not split it.

        - `most`: Look at so many dead letters at most.
        """
        raise NotImplementedError

    async def redrive(self, ids: Sequence[str]) -> BulkResult:
        """Send dead letters back to their queue: counters at zero, history kept.

        Raises `MessageNotFound`, or `NotDead` for what is no dead letter; then nothing was changed.
        """
        raise NotImplementedError

    async def redrive_all(
        self, query: DeadQuery | None = None, *, rate: float | None = None, dry_run: bool = False,
        limit: int = MOST_AT_ONCE, progressed: Progressed | None = None,
    ) -> BulkResult:  # fmt: skip
        """Send every dead letter that a query means back to its queue.

        - `rate`: At most so many a second, evenly.
        - `dry_run`: Only say how many.
        - `limit`: At most so many in this call, the first ones; the same call goes on.
        - `progressed`: Called after each batch with how many were dealt with, and how many were found.
        """
        raise NotImplementedError

    async def delete_dead_all(
        self, query: DeadQuery | None = None, *, dry_run: bool = False, limit: int = MOST_AT_ONCE,
        progressed: Progressed | None = None,
    ) -> BulkResult:  # fmt: skip
        """Remove every dead letter that a query means; a record of each stays. Parameters as in `redrive_all`."""
        raise NotImplementedError

    async def move(self, ids: Sequence[str], queue: str, *, dry_run: bool = False) -> MoveResult:
        """Send dead letters to another queue, as new messages, and remove them here.

        Repeated after a crash it makes no second message, and none is lost.
        """
        raise NotImplementedError

    async def edit(
        self, id: str, payload: Mapping[str, Any] | None = None, *, queue: str | None = None,
        priority: int | None = None, dry_run: bool = False,
    ) -> EditResult:  # fmt: skip
        """Send a dead letter again with another payload, queue or priority, as a new message, and remove it here.

        The payload is checked by the task's signature where the app knows the task (`PayloadInvalid`). Repeated after
        a crash it makes no second message, and none is lost.

        - `payload`: The whole new payload. None: as it was.
        - `dry_run`: Only check, and say what would change.
        """
        raise NotImplementedError
