"""The window of a lane: at most `MOST` of its deliveries exist at a time. The rest waits as announcements.

Which ones exist is a document in the store, written before they are sent, so that another process that takes over knows
them. It is never too short: an id leaves it only when its record says that the delivery has ended. A receiver that is
down, slow or disabled thus leaves at most so many messages in the reserved queue, however many endings wait.
"""

import asyncio
import logging

import msgspec

from tenure.clock import Clock
from tenure.key_value import name_of
from tenure.record import Record
from tenure.state import State

KIND = "webhook-window"
MOST = 100
#: Below so much room the deliveries that have ended are looked for.
_LOW = 50
#: So many are looked up at once. More would open connections that no pool keeps.
_AT_ONCE = 8
#: The wait between two looks. It is halved after one that found most to have ended, and doubled after one that found
#: few, so that a fast receiver is kept busy and a slow one is not looked up all the time.
_FIRST_WAIT, _LAST_WAIT = 0.02, 15.0
_MOST_ENDED, _FEW_ENDED = 0.5, 0.25
#: One that no record knows for so long was never sent, or is forgotten: deliveries and records end before.
_FORGOTTEN_SECONDS = 8 * 86_400.0

logger = logging.getLogger("tenure.webhooks")


class TakenOver(Exception):
    """Another announcer makes deliveries for this lane at this moment. Nothing was written; begin anew."""


class _Kept(msgspec.Struct):
    """The deliveries that exist, oldest first, each with the wall time at which it was entered."""

    ids: dict[str, float] = {}


class _Lane:
    __slots__ = ("ids", "look_at", "version", "wait")

    def __init__(self, ids: dict[str, float], version: str | None) -> None:
        self.ids = ids
        self.version = version
        self.wait = _FIRST_WAIT
        self.look_at = 0.0


class Window:
    """The windows of all lanes, as one announcer sees them."""

    def __init__(self, state: State, clock: Clock, queue: str, *, namespace: str | None = None) -> None:
        """`queue` is the reserved one, where the deliveries are."""
        self._state = state
        self._clock = clock
        self._queue = queue
        self._prefix = "" if namespace is None else f"{namespace}/"
        self._lanes: dict[str, _Lane] = {}

    async def room(self, lane: str) -> int:
        """How many more may be made."""
        one = await self._lane(lane)
        if MOST - len(one.ids) < _LOW and self._clock.monotonic() >= one.look_at:
            await self._look(one)
        return max(0, MOST - len(one.ids))

    async def count(self, lane: str) -> int:
        """How many exist, or may."""
        one = await self._lane(lane)
        if one.ids and self._clock.monotonic() >= one.look_at:
            await self._look(one)
        return len(one.ids)

    async def has(self, lane: str, id: str) -> bool:
        """Whether this one was entered."""
        return id in (await self._lane(lane)).ids

    async def add(self, lane: str, ids: list[str]) -> None:
        """Enter deliveries that are about to be sent. Raises `TakenOver`."""
        one = await self._lane(lane)
        new = [id for id in ids if id not in one.ids]
        if not new:
            return
        entered = one.ids | dict.fromkeys(new, self._state.wall())
        data = msgspec.json.encode(_Kept(entered))
        value = await self._state.key_values.put(KIND, name_of(self._prefix + lane), data, expect=one.version)
        if value is None:
            del self._lanes[lane]
            raise TakenOver(lane)
        one.ids, one.version = entered, value.version

    async def _lane(self, lane: str) -> _Lane:
        one = self._lanes.get(lane)
        if one is None:
            value = await self._state.key_values.get(KIND, name_of(self._prefix + lane))
            one = _Lane({}, None)
            if value is not None:
                one = _Lane(msgspec.json.decode(value.data, type=_Kept).ids, value.version)
            self._lanes[lane] = one
        return one

    async def _look(self, one: _Lane) -> None:
        """Let go of those that have ended."""
        asked = list(one.ids)
        get, wall = self._state.records.get, self._state.wall()
        records: list[Record | None] = []
        for first in range(0, len(asked), _AT_ONCE):
            records += await asyncio.gather(*(get(id, self._queue) for id in asked[first : first + _AT_ONCE]))
        found = 0
        for id, record in zip(asked, records, strict=True):
            if _has_ended(record, wall - one.ids[id]):
                del one.ids[id]
                found += 1
        if found >= len(asked) * _MOST_ENDED:
            one.wait = max(_FIRST_WAIT, one.wait / 2)
        elif found < len(asked) * _FEW_ENDED:
            one.wait = min(_LAST_WAIT, one.wait * 2)
        one.look_at = self._clock.monotonic() + one.wait


def _has_ended(record: Record | None, age: float) -> bool:
    # On some stores a message that waits has no record: not to be known does not mean to be over.
    return age > _FORGOTTEN_SECONDS if record is None else record.is_finished
