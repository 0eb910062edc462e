"""Progress of running messages and run times of completed ones, which a list of messages lacks.

A broker lists messages without either. How far a handler is stands in the message's record, how long it ran in the
journal's event of its completion. Used by `messages.py`.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.listed_message import ListedMessage
from tenure.event import EventKind
from tenure.message import MessageState

#: Records are asked for this many at a time.
_AT_ONCE = 50
#: Events are read from the newest on, this many at a time, and so often at most.
_PAGE, _PAGES = 1_000, 20
#: The clocks of a worker and of the store may differ by this much.
_SKEW_SECONDS = 60.0


async def with_figures(access: Access, seen: Sequence[ListedMessage]) -> list[ListedMessage]:
    """Return the messages with the figures known about their runs."""
    running = [one for one in seen if one.state is MessageState.LEASED]
    completed = [one for one in seen if one.state is MessageState.COMPLETED]
    known = {one.id: one for one in [*await _progress(access, running), *await _durations(access, completed)]}
    return [known.get(one.id, one) for one in seen]


async def _progress(access: Access, seen: Sequence[ListedMessage]) -> list[ListedMessage]:
    told: list[ListedMessage] = []
    for first in range(0, len(seen), _AT_ONCE):
        some = seen[first : first + _AT_ONCE]
        records = await asyncio.gather(*(access.state.records.get(one.id, one.queue) for one in some))
        # It may have ended since it was listed.
        told += [
            msgspec.structs.replace(one, progress=record.progress)
            for one, record in zip(some, records, strict=True)
            if record is not None and record.state is MessageState.LEASED
        ]
    return told


async def _durations(access: Access, seen: Sequence[ListedMessage]) -> list[ListedMessage]:
    """Return the run times of messages whose completion the journal still has."""
    missing = {one.id for one in seen}
    ended = [one.finished_at for one in seen if one.finished_at is not None]
    oldest = min(ended, default=0.0) - _SKEW_SECONDS
    seconds: dict[str, float] = {}
    after = await access.state.journal.last()
    for _ in range(_PAGES):
        if after <= 0 or not missing:
            break
        after = max(0, after - _PAGE)
        events = [stored.event for stored in await access.state.journal.read(after, _PAGE)]
        for event in events:
            if event.kind is EventKind.COMPLETED and event.message_id in missing and event.seconds is not None:
                seconds[event.message_id] = event.seconds
        missing -= seconds.keys()
        if events and events[0].at < oldest:
            break
    return [msgspec.structs.replace(one, seconds=seconds.get(one.id)) for one in seen]
