"""Messages: a page of them by filters, one with its whole life; cancel and delete."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.broker import Query
from tenure.client.browse_all import browse_all
from tenure.client.operations.access import Access
from tenure.client.operations.browsable import check_shown, hidden_states
from tenure.client.operations.bulk import (
    MOST_AT_ONCE,
    BulkResult,
    Progressed,
    bulk_result,
    carry_out,
    check_bounds,
)
from tenure.client.operations.ids import find_records
from tenure.client.operations.listed_message import ListedMessage
from tenure.client.operations.message_detail import MessageDetail, fetch
from tenure.client.operations.message_list import ENDED, MOST_ROWS, Listing, listing
from tenure.client.operations.naming import check_known, full_name, paused, wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.redaction import check_text, redacted_detail, redacted_listed
from tenure.client.operations.run_figures import with_figures
from tenure.errors import BadArgument
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.record import Record
from tenure.rules.queue_pattern import is_pattern, matches

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
    #: Include states that need a scan of a cloud's table, which is billed by the row.
    scan: bool = False
    #: The other way round: the newest arrival, the latest deadline or the newest end first. What has ended always is.
    newest_first: bool = False
    #: Read this many messages at most to find these; `MessagePage.after` goes on. A rare match costs many short calls.
    look_at: int = MOST_ROWS
    #: Stop after about so long, but not before 1,000 messages were read. None: `look_at` alone bounds it.
    look_seconds: float | None = None


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
    """Operations on messages."""

    async def messages(self, query: MessageQuery | None = None) -> MessagePage:
        """Return one page of messages, changing nothing; without a query the first 50 that wait, run or are dead."""
        query = MessageQuery() if query is None else query
        access = await self._opened()
        states = _states(access, query)
        hidden = tuple(hidden_states(access.broker, query.states, scan=query.scan))
        queues = await wanted_queues(access, query.queues)
        found = _NOTHING
        if states and queues != ():
            found = await listing(
                access, _asked(query, states, queues), most_rows=query.look_at, most_seconds=query.look_seconds
            )
        if query.queues and not found.messages and not found.is_more:
            names = [full_name(access, queue) for queue in query.queues if not is_pattern(queue)]
            await check_known(access, names)
        messages = await with_figures(access, found.messages)
        return MessagePage(
            messages=tuple(messages if access.sees_payload else map(redacted_listed, messages)),
            more=found.is_more,
            after=found.cursor,
            looked_at=found.looked_at,
            looked_until=found.looked_until,
            hidden=hidden,
            paused=tuple(one for one in await paused(access) if queues is None or matches(one.queue, queues)),
        )

    async def message(self, id: str) -> MessageDetail:
        """Return everything that is known about one message, with its timeline.

        `id` may be the beginning of an id. Raises `MessageNotFound` or `AmbiguousId`.
        """
        access = await self._opened()
        found = await fetch(access, id)
        return found if access.sees_payload else redacted_detail(found)

    async def cancel(self, ids: Sequence[str]) -> CancelResult:
        """Cancel messages, also running ones. An unknown id stops the whole act."""
        access = await self._opened()
        records = await find_records(access, ids, consequence="nothing was changed")
        operator, was = access.operator(), dict[str, MessageState | None]()

        async def act(batch: Sequence[str], queue: str) -> list[str]:
            met = await operator.cancel(batch, queue)
            was.update((one.id, one.was) for one in met)
            return [one.id for one in met if one.was is not None]

        done = await carry_out(access, {one.id: one.queue for one in records}, act)
        messages = tuple(_cancelled(record, was[record.id]) for record in records)
        return CancelResult(messages=messages, found=len(records), done=len(done), skipped=len(records) - len(done))

    async def cancel_all(
        self,
        query: MessageQuery,
        *,
        rate: float | None = None,
        dry_run: bool = False,
        limit: int = MOST_AT_ONCE,
        progressed: Progressed | None = None,
    ) -> BulkResult:
        """Cancel every message that a query means (ready, delayed, leased).

        - `query`: Its `limit` and `after` mean nothing here.
        - `rate`: At most this many a second.
        - `dry_run`: Only say how many.
        - `limit`: At most this many in this call; the same call goes on.
        - `progressed`: Called after each batch with how many were dealt with, and how many were found.
        """
        check_bounds(rate=rate, limit=limit)
        access = await self._opened()
        open_states = [state for state in query.states if state in _CANCELLABLE]
        if not open_states:
            msg = f"only these can be cancelled: {', '.join(_CANCELLABLE)}; nothing was changed"
            raise BadArgument(msg)
        check_shown(access.broker, open_states, consequence="Nothing was changed")
        check_text(access, query.text)
        queues = await wanted_queues(access, query.queues)
        found, kinds, more = dict[str, str](), Counter[str](), False
        if queues != ():
            asked = msgspec.structs.replace(_asked(query, open_states, queues), limit=_PAGE, cursor="", bodies=False)
            async for one in browse_all(access.broker, asked):
                more = len(found) >= limit
                if more:
                    break
                found[one.id] = one.queue
                kinds[one.state.value] += 1
        operator = access.operator()

        async def act(batch: Sequence[str], queue: str) -> list[str]:
            return [one.id for one in await operator.cancel(batch, queue) if one.was is not None]

        done = [] if dry_run else await carry_out(access, found, act, rate=rate, progressed=progressed)
        return bulk_result(found, done, kinds, dry_run=dry_run, more=more)

    async def delete(self, ids: Sequence[str]) -> BulkResult:
        """Remove messages that are not leased (ready, delayed, dead); a record of each stays.

        An unknown id stops the whole act. What runs or has ended is skipped.
        """
        access = await self._opened()
        records = await find_records(access, ids, consequence="nothing was changed")
        found = {one.id: one.queue for one in records}
        done = await carry_out(access, found, access.operator().delete)
        return bulk_result(found, done, Counter(one.state.value for one in records))


_CANCELLABLE = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED)
_NOTHING = Listing(messages=[], is_more=False)
_PAGE = 500


def _states(access: Access, query: MessageQuery) -> list[MessageState]:
    """Return the states that this broker can show. Raises where the query cannot be answered."""
    states = list(dict.fromkeys(query.states))
    if {*states} & {*ENDED} and {*states} - {*ENDED}:
        msg = "ask for completed and cancelled messages apart from the others: they have another order"
        raise BadArgument(msg)
    if query.limit < 1 or query.look_at < 1:
        msg = f"limit={query.limit!r} and look_at={query.look_at!r}: a page has at least 1 message"
        raise BadArgument(msg)
    check_text(access, query.text)
    if len(states) == 1:
        check_shown(access.broker, states, scan=query.scan)
    hidden = hidden_states(access.broker, states, scan=query.scan)
    return [state for state in states if state not in hidden]


def _asked(query: MessageQuery, states: Sequence[MessageState], queues: tuple[str, ...] | None) -> Query:
    return Query(
        states=tuple(states), queues=queues, task=query.task, client=query.client, key=query.key, text=query.text,
        since=query.since, until=query.until, limit=query.limit, cursor=query.after, scan=query.scan,
        backwards=query.newest_first,
    )  # fmt: skip


def _cancelled(record: Record, was: MessageState | None) -> CancelledMessage:
    owner = record.owner if was is MessageState.LEASED else None
    return CancelledMessage(id=record.id, cancelled=was is not None, was=was or record.state, owner=owner)
