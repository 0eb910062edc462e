"""Browsing: a page of the messages of one queue in one state. Nothing here changes anything.

First the service is asked which there are: only those in that state, and of each only what tells its place. Then the
few that the page shows are read in whole. So a page costs the bodies that are on it, whatever else lies in the table.

What is ready was sent and has no life yet, or waits again. It is shown in the order in which it was sent; everything
else in the order in which it was first lent, or delayed. Next: whoever shows it (`tenure messages`, `tenure dead`).
"""

from collections.abc import AsyncIterator

import msgspec

from tenure.adapters.azure.entry import BRIEF, Kept, Letter, place_text, read_letter, read_life
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, GE, IS_NOT, NE
from tenure.broker import Browsed
from tenure.message import NO_COUNTERS, MessageState

#: So many rows are looked up side by side.
_AT_ONCE = 50


class _Spot(msgspec.Struct, frozen=True, order=True):
    """Where a message of the page stands."""

    place: int
    part: str
    #: Behind the first letters of its rows' keys.
    word: str
    has_life: bool
    #: Its letter, if it has one, may have a place of its own: then that counts.
    is_doubtful: bool = False


async def browse(store: Store, queue: str, state: MessageState, *, limit: int, after: int) -> list[Browsed]:
    """A page of the messages of one queue in one state, after the place `after`."""
    while True:
        spots = await _choose(
            _ready(store, queue, after) if state is MessageState.READY else _lives(store, queue, state), limit, after
        )
        shown = await _show(store, queue, state, spots, after)
        if shown or not spots:
            return shown
        after = spots[-1].place  # all of these have gone on meanwhile


async def _choose(spots: AsyncIterator[_Spot], limit: int, after: int) -> list[_Spot]:
    """The first `limit` of them; no more than twice as many are ever kept."""
    found: list[_Spot] = []
    async for spot in spots:
        if spot.place > after:
            found.append(spot)
        if len(found) >= 2 * limit:
            found = sorted(found)[:limit]
    return sorted(found)[:limit]


async def _lives(store: Store, queue: str, state: MessageState) -> AsyncIterator[_Spot]:
    where = EQ("Queue", queue) & EQ("State", state.value)
    for part in store.parts:
        async for row in store.rows.between(part, "m:", "m;", where, only=BRIEF):
            yield _Spot(read_life(row).life.place, part, row.key[2:], has_life=True)


async def _ready(store: Store, queue: str, after: int) -> AsyncIterator[_Spot]:
    for part in store.parts:
        rows, of = store.rows, EQ("Queue", queue)
        others = {row.key[2:] for row in await rows.scan(part, "m:", of & NE("State", "ready"), only=("State",))}
        again = {
            row.key[2:]: read_life(row).life
            for row in await rows.scan(part, "m:", of & EQ("State", "ready"), only=BRIEF)
        }
        letters = of & IS_NOT("IsEnded") & GE("Place", place_text(after + 1))
        async for row in rows.between(part, "s:", "s;", letters, only=("Place",)):
            word = row.key[2:]
            if word not in others:
                yield _Spot(int(row.fields["Place"]), part, word, has_life=again.pop(word, None) is not None)
        for word, life in again.items():
            # It has no letter; or one that stands before this page, and was shown there.
            yield _Spot(life.place, part, word, has_life=True, is_doubtful=True)


async def _show(store: Store, queue: str, state: MessageState, spots: list[_Spot], after: int) -> list[Browsed]:
    """Read what is on the page; without what is no longer in that state."""
    shown: list[Browsed] = []
    for start in range(0, len(spots), _AT_ONCE):
        some = spots[start : start + _AT_ONCE]
        found = await _read(store, "m:", [spot for spot in some if spot.has_life])
        lives = {spot: life for spot, row in found.items() if (life := read_life(row)).life.state is state}
        some = [spot for spot in some if spot in lives or not spot.has_life]
        whole = {spot for spot, kept in lives.items() if kept.envelope is not None and not spot.is_doubtful}
        found = await _read(store, "s:", [spot for spot in some if spot not in whole])
        letters = {spot: read_letter(row) for spot, row in found.items()}
        for spot in some:
            kept, letter = lives.get(spot), letters.get(spot)
            if kept is None and (letter is None or letter.is_ended):
                continue
            if spot.is_doubtful and letter is not None and letter.place <= after:
                continue
            shown.append(_browsed(store, queue, spot.place, kept, letter))
    return shown


async def _read(store: Store, kind: str, spots: list[_Spot]) -> dict[_Spot, Row]:
    """The rows of one kind of these, where there are any."""
    rows = await store.rows.get_all((spot.part, f"{kind}{spot.word}") for spot in spots)
    return {spot: row for spot, row in zip(spots, rows, strict=True) if row is not None}


def _browsed(store: Store, queue: str, place: int, kept: Kept | None, letter: Letter | None) -> Browsed:
    now = store.timeline.now()
    sent = b"" if letter is None else letter.envelope
    if kept is None:
        id = "" if letter is None else letter.id
        return Browsed(id=id, queue=queue, state=MessageState.READY, envelope=sent, counters=NO_COUNTERS, cursor=place)
    life = kept.life
    return Browsed(
        id=life.id,
        queue=queue,
        state=life.state,
        envelope=sent if kept.envelope is None else kept.envelope,
        counters=life.counters,
        cursor=place,
        owner=life.owner,
        fence=life.fence if life.owner else None,
        deadline_in=None if life.deadline is None else life.deadline - now,
        due_in=life.due - now if life.state is MessageState.DELAYED and life.due is not None else None,
        reason=life.reason,
        finished_at=life.finished_at,
    )
