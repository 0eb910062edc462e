"""Looking at messages: one page of what is lent, of dead letters, or, on request, of anything by a scan.

Queues are never peeked at. What can be looked at is what the state knows: entries, and the bodies of dead letters.

    leased      by the batches of each owner (`lease_batches.py`); each page reads every held message, one unit each
    dead        by the index of each queue (`dead_letter_index.py`), oldest end first
    the rest    ready, delayed, completed, cancelled: only with `Query.scan`, by reading the table from end to end in no
                order, bodies of dead letters included. On DynamoDB half a read unit for each 4 KB: about 60 units, or
                0.0008 cents, for 1,000 messages of usual size; a page reads no more than `Query.look_at` rows

Of what is not dead there is no envelope here, so it cannot be filtered by what stands in it.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.broker import MOST_LEASES, BrokerTraits
from tenure.claim import Scope
from tenure.errors import BadArgument
from tenure.message import MessageState
from tenure.query import Browsed, Page, Query
from tenure.rowstore import dead_letter_index, lease_batches
from tenure.rowstore.entry import DONE, GONE, UNSENT, Entry
from tenure.rowstore.row_changes import CLAIM, ENTRY, body_rows, claim_place, entry_place
from tenure.rowstore.store import Store
from tenure.rules.browsing import needs_envelope
from tenure.rules.cursor import refused
from tenure.rules.paging import PagedRow, Pager, Part
from tenure.rules.queue_pattern import has_pattern, served_of
from tenure.table import Row as TableRow
from tenure.table import ScanTable

#: So many dead letters are read at once; and so many if their bodies are wanted, which may be a megabyte each.
_LETTERS, _BODIES = 100, 20
_COMPLETED = (GONE, MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.COMPLETED)


async def browse(store: Store, query: Query, traits: BrokerTraits) -> Page:
    """One page."""
    visible = traits.browsable | (traits.scannable if query.scan else frozenset())
    _refuse_bodies(store, query, traits.opaque_states)
    indexed = await _indexed(store, query) if MessageState.DEAD in query.states else []
    pager = Pager(
        query,
        lambda state: indexed if state == MessageState.DEAD else [""],
        clock=store.clock,
        ended_filters=traits.ended_filters,
        visible=visible,
    )
    while (part := pager.next_part()) is not None:
        if part.state == MessageState.DEAD:
            await _take_letters(store, query, part, pager)
        elif part.state == MessageState.LEASED:
            await _take_leased(store, query, part, pager)
        else:
            await _take_scanned(store, part, pager)
    return pager.page()


def _refuse_bodies(store: Store, query: Query, opaque: frozenset[MessageState]) -> None:
    hidden = [state.value for state in query.states if state in opaque]
    if hidden and needs_envelope(query):
        msg = (
            f"{store.queue.traits.service} does not show what {' and '.join(hidden)} messages carry, so they cannot be "
            "filtered by client, key or text; nothing was read. Leave the filter or the state out"
        )
        raise BadArgument(msg)


# -- dead letters ------------------------------------------------------------------------------------


async def _indexed(store: Store, query: Query) -> list[str]:
    """The queues whose dead letters are meant, sorted."""
    if query.queues is not None and not has_pattern(query.queues):
        return sorted(set(query.queues))
    listed = await dead_letter_index.queues(store)
    names = listed if query.queues is None else served_of({*listed, *query.queues}, query.queues)
    return sorted(name for name in names if "*" not in name)


async def _take_letters(store: Store, query: Query, part: Part, pager: Pager) -> None:
    """Some lines of one index. Those that name no dead letter are taken off it."""
    if part.after and not part.after.isdecimal():
        raise refused(query.cursor)
    is_body_needed = query.bodies or needs_envelope(query)
    limit = min(part.limit, _BODIES if is_body_needed else _LETTERS)
    lines = await dead_letter_index.page(store, part.queue, after=part.after, limit=limit, backwards=query.backwards)
    entries = await store.rows.get(ENTRY, [entry_place(id) for _, id, _ in lines])
    letters: list[tuple[int, str, Entry]] = []
    litter: list[TableRow] = []
    for (place, id, row), entry in zip(lines, entries, strict=True):
        if entry is not None and dead_letter_index.is_letter(entry, place):
            letters.append((place, id, entry))
        elif dead_letter_index.is_litter(store, entry, place):
            litter.append(row)
    await dead_letter_index.take(store, litter)
    bodies = [""] * len(letters)
    if is_body_needed:
        bodies = await asyncio.gather(
            *(store.rows.body(id, entry.pages, body_rows(place)) for place, id, entry in letters)
        )
    rows = [
        PagedRow(_browsed(store, id, entry, MessageState.DEAD, body.encode()), dead_letter_index.sort_of(place))
        for (place, id, entry), body in zip(letters, bodies, strict=True)
    ]
    is_end = len(lines) < limit
    mark = "" if is_end else dead_letter_index.sort_of(lines[-1][0])
    pager.take(rows, is_end=is_end, passed=len(lines) - len(rows), mark=mark)


# -- what is lent ------------------------------------------------------------------------------------


class _Mark(msgspec.Struct, array_like=True):
    """A place in the order of deadlines."""

    deadline: float
    id: str


async def _take_leased(store: Store, query: Query, part: Part, pager: Pager) -> None:
    found, _ = await lease_batches.soonest(store, MOST_LEASES)
    found.sort(key=lambda one: (one.entry.deadline, one.id), reverse=query.backwards)
    if part.after:
        try:
            mark = msgspec.json.decode(part.after, type=_Mark)
        except msgspec.MsgspecError as error:
            raise refused(query.cursor) from error
        last = (mark.deadline, mark.id)
        found = [
            one
            for one in found
            if ((one.entry.deadline, one.id) < last if query.backwards else (one.entry.deadline, one.id) > last)
        ]
    rows = [
        PagedRow(
            _browsed(store, one.id, one.entry, MessageState.LEASED, _known(store, one)),
            msgspec.json.encode(_Mark(one.entry.deadline, one.id)).decode(),
        )
        for one in found[: part.limit]
    ]
    pager.take(rows, is_end=len(found) <= part.limit)


def _known(store: Store, one: lease_batches.StillLeased) -> bytes:
    """Its envelope, if this process was lent it."""
    held = store.memory.get(one.id, one.entry.owner or "", one.entry.fence)
    return b"" if held is None else held.lease.envelope


# -- by a scan ---------------------------------------------------------------------------------------


async def _take_scanned(store: Store, part: Part, pager: Pager) -> None:
    if not isinstance(store.table, ScanTable):
        msg = f"the table of the state cannot be scanned for {part.state} messages; nothing was read"
        raise BadArgument(msg)
    try:
        scanned = await store.table.scan("m#", "m", after=part.after, limit=part.limit)
    except ValueError as error:
        raise refused(part.after) from error
    entries = [(row.place.part.removeprefix("m#"), ENTRY.read(row), mark) for row, mark in scanned.rows]
    states = await _states(store, [entry for _, entry, _ in entries])
    rows = [
        PagedRow(_browsed(store, id, entry, part.state), mark)
        for (id, entry, mark), state in zip(entries, states, strict=True)
        if entry is not None and state == part.state
    ]
    pager.take(rows, is_end=not scanned.mark, passed=max(0, scanned.looked_at - len(rows)), mark=scanned.mark)


async def _states(store: Store, entries: Sequence[Entry | None]) -> list[str | None]:
    """The state of each, as `Records.get` tells it. None: it is not told."""
    keyed = [entry for entry in entries if entry is not None and entry.key is not None and entry.state in _COMPLETED]
    places = [claim_place(Scope(one.queue, one.task, one.key or "", one.generation)) for one in keyed]
    claims = await store.rows.get(CLAIM, places)
    done = {
        id(entry)
        for entry, claim in zip(keyed, claims, strict=True)
        if claim is not None and claim.state == DONE and claim.digest == entry.digest
    }
    return [None if entry is None else _state(entry, is_done=id(entry) in done) for entry in entries]


def _state(entry: Entry, *, is_done: bool) -> str | None:
    if (is_done or entry.is_sealed) and entry.state in _COMPLETED:
        return MessageState.COMPLETED
    if entry.state in (GONE, UNSENT):
        return None
    return MessageState.DEAD if entry.is_half_redriven else entry.state


# -- both --------------------------------------------------------------------------------------------


def _browsed(store: Store, id: str, entry: Entry, state: MessageState, envelope: bytes = b"") -> Browsed:
    now = store.rows.now()
    is_leased = state == MessageState.LEASED
    finished_at = entry.finished_at
    if state == MessageState.COMPLETED and entry.claim is not None:
        finished_at = entry.claim.finished_at
    return Browsed(
        id=id,
        queue=entry.queue,
        state=state,
        envelope=envelope,
        counters=entry.counters,
        task=entry.task or None,
        owner=entry.owner if is_leased else None,
        fence=entry.fence if is_leased else None,
        deadline_in=entry.deadline - now if is_leased else None,
        due_in=entry.due - now if state == MessageState.DELAYED else None,
        reason=entry.reason,
        sent_at=entry.sent_at,
        finished_at=finished_at,
    )
