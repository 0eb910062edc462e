"""Dead letters: list them, group them by what went wrong, send them back, move, edit or delete them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from tenure.broker import Query
from tenure.client.browse_all import browse_all
from tenure.client.operations.access import Access
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.bulk import (
    MOST_AT_ONCE,
    BulkResult,
    Progressed,
    bulk_result,
    carry_out,
    check_bounds,
)
from tenure.client.operations.dead_groups import DeadGroups, Grouping
from tenure.client.operations.ids import find_records
from tenure.client.operations.message_list import Listing, listing
from tenure.client.operations.messages import MessagePage
from tenure.client.operations.naming import check_known, check_one, full_name, paused, wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.redaction import check_text, redacted_edit, redacted_group, redacted_listed
from tenure.client.operations.resend import Edit, EditResult, MoveResult, edit_one, move_one
from tenure.client.redrive import Which, find, kinds_of
from tenure.errors import NotDead
from tenure.message import MessageState
from tenure.query import Browsed
from tenure.rules.fingerprint import fingerprint
from tenure.rules.queue_pattern import is_pattern, matches


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
    #: Of this client only.
    client: str | None = None
    #: With this key only.
    key: str | None = None
    #: With this text in its payload or its reason.
    text: str | None = None
    #: In lists: the newest first.
    newest_first: bool = False


class DeadOperations(Operations):
    """Operations on dead letters."""

    async def dead(self, query: DeadQuery | None = None, *, limit: int = 50, after: str = "") -> MessagePage:
        """Return one page of dead letters with their reasons.

        - `after`: `MessagePage.after` of the page before.
        """
        check_bounds(limit=limit)
        query = DeadQuery() if query is None else query
        access, queues = await self._place(query)
        found = _NOTHING
        if queues != ():
            asked = _asked(query, queues, limit=limit, cursor=after, backwards=query.newest_first)
            found = await listing(access, asked, keep=_filter(query))
        return MessagePage(
            messages=tuple(found.messages if access.sees_payload else map(redacted_listed, found.messages)),
            more=found.is_more,
            after=found.cursor,
            looked_at=found.looked_at,
            looked_until=found.looked_until,
            paused=tuple(one for one in await paused(access) if queues is None or matches(one.queue, queues)),
        )

    async def dead_groups(self, query: DeadQuery | None = None, *, most: int = 10_000) -> DeadGroups:
        """Return dead letters grouped by what went wrong, the largest group first.

        A group has one task, one code, one class of exception and one place in your own code. Numbers and ids in the
        sentence do not split it.

        - `most`: Look at this many dead letters at most, the newest ones.
        """
        check_bounds(limit=most)
        query = DeadQuery() if query is None else query
        access, queues = await self._place(query)
        grouping, looked_at, more = Grouping(access.state.wall()), 0, False
        if queues != ():
            means = _filter(query)
            asked = _asked(query, queues, limit=_PAGE, backwards=True, bodies=False)
            async for one in browse_all(access.broker, asked):
                more = looked_at >= most
                if more:
                    break
                looked_at += 1
                if means(one):
                    grouping.add(one)
        found = grouping.result(more=more)
        if access.sees_payload:
            return found
        return msgspec.structs.replace(found, groups=tuple(map(redacted_group, found.groups)))

    async def redrive(self, ids: Sequence[str]) -> BulkResult:
        """Send dead letters back to their queue: counters at zero, history kept.

        Raises `MessageNotFound`, or `NotDead` for what is no dead letter; then nothing was changed.
        """
        access = await self._opened()
        found = await named_dead(access, ids)
        done = await carry_out(access, found, access.operator().redrive)
        return bulk_result(found, done, {})

    async def redrive_all(
        self,
        query: DeadQuery | None = None,
        *,
        rate: float | None = None,
        dry_run: bool = False,
        limit: int = MOST_AT_ONCE,
        progressed: Progressed | None = None,
    ) -> BulkResult:
        """Send every dead letter that a query means back to its queue.

        - `rate`: At most this many a second, evenly.
        - `dry_run`: Only say how many.
        - `limit`: At most this many in this call, the first ones; the same call goes on.
        - `progressed`: Called after each batch with how many were dealt with, and how many were found.
        """
        act = self._access.operator().redrive
        return await self._all(act, query, rate=rate, dry_run=dry_run, limit=limit, progressed=progressed)

    async def delete_dead_all(
        self,
        query: DeadQuery | None = None,
        *,
        rate: float | None = None,
        dry_run: bool = False,
        limit: int = MOST_AT_ONCE,
        progressed: Progressed | None = None,
    ) -> BulkResult:
        """Remove every dead letter that a query means; a record of each stays. Parameters as in `redrive_all`."""
        act = self._access.operator().delete
        return await self._all(act, query, rate=rate, dry_run=dry_run, limit=limit, progressed=progressed)

    async def move(self, ids: Sequence[str], queue: str, *, dry_run: bool = False) -> MoveResult:
        """Send dead letters to another queue, as new messages, and remove them here.

        Repeated after a crash it makes no second message, and none is lost.
        """
        access = await self._opened()
        found = await named_dead(access, ids)
        to = await check_one(access, queue, must_exist=False)
        moved = [await move_one(access, id, found[id], to, dry_run=dry_run) for id in found]
        done = sum(one.new_id is not None for one in moved)
        skipped = sum(bool(one.problem) for one in moved)
        return MoveResult(messages=tuple(moved), found=len(found), done=done, skipped=skipped, dry_run=dry_run)

    async def edit(
        self,
        id: str,
        payload: Mapping[str, Any] | None = None,
        *,
        queue: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> EditResult:
        """Send a dead letter again with another payload, queue or priority, as a new message, and remove it here.

        The payload is checked by the task's signature where the app knows the task (`PayloadInvalid`). Repeated after
        a crash it makes no second message, and none is lost.

        - `payload`: The whole new payload. None: as it was.
        - `dry_run`: Only check, and say what would change.
        """
        access = await self._opened()
        ((whole_id, where),) = (await named_dead(access, [id])).items()
        to = where if queue is None else await check_one(access, queue, must_exist=False)
        edit = Edit(payload=payload, queue=to, priority=priority)
        found = await edit_one(access, whole_id, where, edit, dry_run=dry_run)
        return found if access.sees_payload else redacted_edit(found)

    async def _place(self, query: DeadQuery) -> tuple[Access, tuple[str, ...] | None]:
        """The open store, and the chosen queues. Raises `UnknownQueue` for an unknown name."""
        access = await self._opened()
        check_shown(access.broker, [MessageState.DEAD])
        check_text(access, query.text)
        names = [full_name(access, queue) for queue in query.queues if not is_pattern(queue)]
        if names:
            await check_known(access, names, consequence="Nothing was changed")
        return access, await wanted_queues(access, query.queues)

    async def _all(
        self,
        act: Callable[[Sequence[str], str], Awaitable[list[str]]],
        query: DeadQuery | None,
        *,
        rate: float | None,
        dry_run: bool,
        limit: int,
        progressed: Progressed | None,
    ) -> BulkResult:
        check_bounds(rate=rate, limit=limit)
        query = DeadQuery() if query is None else query
        access, queues = await self._place(query)
        which = Which(
            task=query.task,
            reason=query.reason,
            fingerprint=query.fingerprint,
            since=query.since,
            before=query.before,
            client=query.client,
            key=query.key,
            text=query.text,
            limit=limit + 1,
        )
        letters = [letter async for letter in find(access.broker, queues, which)]
        more, letters = len(letters) > limit, letters[:limit]
        found = {letter.browsed.id: letter.browsed.queue for letter in letters}
        done = [] if dry_run else await carry_out(access, found, act, rate=rate, progressed=progressed)
        return bulk_result(found, done, kinds_of(letters), dry_run=dry_run, more=more)


_NOTHING = Listing(messages=[], is_more=False)
_PAGE = 500


def _asked(query: DeadQuery, queues: tuple[str, ...] | None, **bounds: Any) -> Query:
    """Make the broker's query of the filters that a store has."""
    return Query(
        states=(MessageState.DEAD,),
        queues=queues,
        task=query.task,
        client=query.client,
        key=query.key,
        text=query.text,
        since=query.since,
        until=query.before,
        **bounds,
    )


def _filter(query: DeadQuery) -> Callable[[Browsed], bool]:
    """Make a predicate of the filters that the store does not have."""

    def means(one: Browsed) -> bool:
        if query.reason is not None and query.reason != ("unknown" if one.reason is None else one.reason.code):
            return False
        return query.fingerprint is None or query.fingerprint == fingerprint(one.task, one.reason)

    return means


async def named_dead(access: Access, ids: Sequence[str]) -> dict[str, str]:
    """Check that each id is a dead letter before anything is touched; the ids as the broker has them, with queues."""
    records = await find_records(access, ids, consequence="nothing was changed")
    for record in records:
        if record.state is not MessageState.DEAD:
            msg = f"message {record.id} is {record.state}, not dead; nothing was changed"
            raise NotDead(msg)
    return {record.id: record.queue for record in records}
