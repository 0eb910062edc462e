"""Messages: a page of them by filters, one with its whole life; cancel and delete."""

from collections.abc import Sequence

import msgspec

from tenure.client.operations.bulk import MOST_AT_ONCE, BulkResult, Progressed
from tenure.client.operations.listed_message import ListedMessage
from tenure.client.operations.message_detail import MessageDetail
from tenure.client.operations.operations import Operations
from tenure.message import MessageState
from tenure.notice import Pause

#: What is being worked on comes first. What has ended is shown only when it is asked for.
OPEN_STATES = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class MessageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages. A message must match every filter."""

    #: `completed` and `cancelled` cannot be asked for together with the others: they have another order.
    states: tuple[MessageState, ...] = OPEN_STATES
    #: Names, or patterns such as `*-tasks`. Empty: every queue.
    queues: tuple[str, ...] = ()
    task: str | None = None
    client: str | None = None
    key: str | None = None
    #: Found in the id, the payload or the reason.
    text: str | None = None
    #: Unix seconds: sent, or ended, of what has ended, not before this.
    since: float | None = None
    #: And before this.
    until: float | None = None
    limit: int = 50
    #: `MessagePage.after` of the page before.
    after: str = ""
    #: Also states that need a scan of a cloud's table, paid for by the row.
    scan: bool = False


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that were found, and how far was looked."""

    messages: tuple[ListedMessage, ...]
    #: There are more, or there may be.
    more: bool
    #: Where to go on. None: at the end, or the newest of several queues were merged.
    after: str | None = None
    #: Messages that were read to find these. None: not counted.
    looked_at: int | None = None
    #: When the last of them was sent, or ended.
    looked_until: float | None = None
    #: States of which this broker lists no messages.
    hidden: tuple[MessageState, ...] = ()
    #: Queues among these that are paused.
    paused: tuple[Pause, ...] = ()


class CancelledMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one cancel."""

    id: str
    cancelled: bool
    #: Its state before.
    was: MessageState
    #: The worker that ran it.
    owner: str | None = None


class CancelResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of several cancels, in the order of the ids."""

    messages: tuple[CancelledMessage, ...]
    found: int
    done: int
    #: They had ended before, and stayed as they were.
    skipped: int


class MessageOperations(Operations):
    """What can be asked of and done to messages."""

    async def messages(self, query: MessageQuery | None = None) -> MessagePage:
        """Return one page of messages, changing nothing; without a query the first 50 that wait, run or are dead."""
        raise NotImplementedError

    async def message(self, id: str) -> MessageDetail:
        """Return everything that is known about one message, with its timeline.

        `id` may be the beginning of an id. Raises `MessageNotFound` or `AmbiguousId`.
        """
        raise NotImplementedError

    async def cancel(self, ids: Sequence[str]) -> CancelResult:
        """Take messages back, also from workers that run them. An id that nobody knows stops the whole act."""
        raise NotImplementedError

    async def cancel_all(
        self, query: MessageQuery, *, rate: float | None = None, dry_run: bool = False, limit: int = MOST_AT_ONCE,
        progressed: Progressed | None = None,
    ) -> BulkResult:  # fmt: skip
        """Cancel every message that a query means (ready, delayed, leased).

        - `query`: Its `limit` and `after` mean nothing here.
        - `rate`: At most so many a second.
        - `dry_run`: Only say how many.
        - `limit`: At most so many in this call; the same call goes on.
        - `progressed`: Called after each batch with how many were dealt with, and how many were found.
        """
        raise NotImplementedError

    async def delete(self, ids: Sequence[str]) -> BulkResult:
        """Remove messages that nobody holds (ready, delayed, dead); a record of each stays."""
        raise NotImplementedError
