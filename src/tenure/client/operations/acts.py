"""Acts: who did what to messages, queues and schedules, when, and from where. Kept for 400 days."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.act import Act, StoredAct
from tenure.client.operations.access import Access
from tenure.client.operations.bulk import check_bounds
from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.rules.queue_pattern import matches

_PAGE = 200
#: One call looks at this many acts; people do little.
_MOST_LOOKED_AT = 100_000


class ActEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One act, with its place in the log."""

    #: Its place in the log; grows.
    seq: int
    #: The kind of its event, such as `cancelled` or `paused`.
    kind: str
    at: float
    #: Who; empty: unknown.
    by: str
    #: How the act reached Tenure: `cli`, `api`, `http` or `dashboard`.
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
    """Operations on the audit log."""

    async def acts(
        self,
        before: int = 0,
        limit: int = 50,
        *,
        by: str | None = None,
        kinds: Sequence[str] = (),
        queues: Sequence[str] = (),
    ) -> ActList:
        """Return the newest acts before a place in the log (0: of all).

        - `by`: Of them only: a part of a name will do.
        - `kinds`: Of these kinds only.
        - `queues`: On these queues only: names, or patterns.
        """
        check_bounds(limit=limit)
        access = await self._opened()
        wanted = await wanted_queues(access, queues) if queues else None
        found: list[StoredAct] = []
        looked_at, place, is_over = 0, before, False
        while not is_over and len(found) < limit and looked_at < _MOST_LOOKED_AT:
            page = await access.state.acts.read(place, _PAGE)
            is_over = len(page) < _PAGE
            for one in page:
                place, looked_at = one.seq, looked_at + 1
                if _means(one.act, by, kinds, wanted) and _is_theirs(access, one.act):
                    found.append(one)
                    if len(found) == limit:
                        is_over = is_over and one is page[-1]
                        break
        return ActList(acts=tuple(map(_entry, found)), before=None if is_over else place)


def _means(act: Act, by: str | None, kinds: Sequence[str], queues: Sequence[str] | None) -> bool:
    return (
        (by is None or by.casefold() in act.by.casefold())
        and (not kinds or act.kind in kinds)
        and (queues is None or (act.queue is not None and matches(act.queue, queues)))
    )


def _is_theirs(access: Access, act: Act) -> bool:
    """An act without a queue is visible to those who see every queue."""
    return access.sees_every_queue if act.queue is None else access.sees(act.queue)


def _entry(stored: StoredAct) -> ActEntry:
    act = stored.act
    return ActEntry(
        seq=stored.seq,
        kind=act.kind,
        at=act.at,
        by=act.by,
        triggered_by=act.triggered_by,
        source=act.source,
        queue=act.queue,
        count=act.count,
        ids=act.ids,
        data=act.data,
    )
