"""Children: the messages that a handler has handed on by `ctx.submit`.

Their ids are derived from the parent's, so nothing has to be kept to find them: those with the first numbers are looked
up, and then more, until a whole group of numbers is missing. A single one may be: a hand-off for which another message
stands (`key`, `unique`), or one whose record has expired.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.client.operations.access import Access
from tenure.client.operations.ids import find_record
from tenure.client.operations.operations import Operations
from tenure.errors import BodyUndecodable, MessageNotFound
from tenure.message import MessageState
from tenure.record import Record
from tenure.rules.handoff_id import handoff_id

#: This many are listed.
MOST_CHILDREN = 100
#: The numbers of hand-offs are looked up in groups that end here. Most messages hand nothing on.
_GROUPS = (2, 10, 40, MOST_CHILDREN)


class ChildMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that another one's handler has handed on."""

    id: str
    queue: str
    #: None: the message cannot be read.
    task: str | None
    state: MessageState


class ChildList(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that a handler has handed on."""

    #: The message whose handler did.
    id: str
    #: The parent that handed that one on. None: it has no parent, or it has ended and that is not kept.
    parent_id: str | None
    #: In the order in which they were handed on.
    children: tuple[ChildMessage, ...]
    #: There may be others: it was not looked further.
    more: bool = False


class ChildOperations(Operations):
    """Operations on the messages that a handler has handed on."""

    async def children(self, id: str) -> ChildList:
        """Return the messages that the handler of a message has handed on by `ctx.submit`, at most 100.

        They are sent when their parent is completed. `id` may be the beginning of an id.
        """
        access = await self._opened()
        record = await find_record(access, id)
        parent_id, generation = _envelope_of(record)
        found = list[Record]()
        for one in _generations(record, generation):
            found, more = await _children(access, record, one)
            if found:
                break
        else:
            more = False
        children = tuple(ChildMessage(id=one.id, queue=one.queue, task=one.task, state=one.state) for one in found)
        return ChildList(id=record.id, parent_id=parent_id, children=children, more=more)


def _envelope_of(record: Record) -> tuple[str | None, int | None]:
    """Parent and generation, while the envelope is there."""
    try:
        message = None if record.envelope is None else envelope.decode(record.envelope)
    except BodyUndecodable:
        return None, None
    return (None, None) if message is None else (message.parent_id, message.generation)


def _generations(record: Record, known: int | None) -> Sequence[int]:
    """Return the generations in which it may have handed messages on: `known`, else every one so far."""
    if known is not None:
        return (known,)
    redriven = sum(ending.how == "redriven" for ending in record.history)
    return range(redriven, -1, -1)


async def _children(access: Access, parent: Record, generation: int) -> tuple[list[Record], bool]:
    """Return the known children, and whether there may be more."""
    found, start = list[Record](), 0
    for end in _GROUPS:
        ids = [handoff_id(parent.id, parent.sent_at or 0.0, generation, place) for place in range(start, end)]
        records = await asyncio.gather(*(_look_up(access, id, parent.queue) for id in ids))
        there = [record for record in records if record is not None]
        if not there:
            return found, False
        found, start = found + there, end
    return found, True


async def _look_up(access: Access, id: str, queue: str) -> Record | None:
    """Most are in their parent's queue, or in none: so that one is asked first."""
    try:
        return await access.record(id, queue)
    except MessageNotFound:  # of another namespace
        return None
