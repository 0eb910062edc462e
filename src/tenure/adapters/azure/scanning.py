"""Scanning: the messages in one state, read from the table in windows.

Rows lie in the order of their ids, and each state has another order. So up to `Query.look_at` rows (10 000 at most) are
read without their bodies, put in order, and handed out page by page: that is a window. If the state has no more rows,
its order is exact; if it has, each window is in order, and the next one follows. Every page reads its window anew.

The price of a page: one query for each 1000 rows of its window, and one look-up for each body that is shown. A window
of 10 000 rows and 100 bodies is 110 requests: 0.0004 cents. The service also looks through rows of other states that
lie in between, and answers at least once for every few seconds that this takes it.

    leased, dead, delayed, cancelled   their lives (`m:`)
    completed                          their letters (`s:`), which stay until they are forgotten
    ready                              letters that have not ended, without those whose life says otherwise

Used by `browsing.py`.
"""

from collections.abc import AsyncIterator

import msgspec

from tenure.adapters.azure.entry import BRIEF, Letter, Life, read_life
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.queue_filter import of_queues
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, IS, IS_NOT, Where
from tenure.message import NO_COUNTERS, Counters, MessageState
from tenure.query import Browsed, Query
from tenure.rules.cursor import read as read_mark
from tenure.rules.cursor import write as write_mark

#: So many rows are kept in memory.
_MOST_ROWS = 10_000
#: What is read of a letter to put it in order, and to filter it.
_OF_LETTER = ("Id", "Queue", "Task", "Place", "SentAt", "EndedAt", "Counters")


class Mark(msgspec.Struct, array_like=True, omit_defaults=True):
    """Where to go on: the part and the key behind which a window begins, and the last row of it that was handed out."""

    part: int = 0
    key: str = ""
    order: tuple[float, int, str] | None = None


class Spot(msgspec.Struct, frozen=True):
    """A message of a window: what is known of it without its body."""

    #: Its place in the order of the window: a time, then the order of arrival.
    order: tuple[float, int, str]
    part: str
    #: Behind the first letters of its rows' keys.
    word: str
    message: Browsed
    #: Its own bytes, if any, lie in the row of its life.
    is_own: bool
    #: An older version wrote it: what is missing stands in its letter.
    is_partial: bool = False


class Window(msgspec.Struct):
    """Some rows in order, and where the next ones begin. None: there are no more."""

    start: Mark
    spots: list[Spot]
    following: Mark | None
    #: Rows that were read for it.
    read: int

    def mark(self, spot: Spot) -> str:
        """To go on behind this row."""
        is_last = spot is self.spots[-1] and self.following is not None
        at = self.following if is_last else Mark(self.start.part, self.start.key, spot.order)
        return write_mark(at or Mark())


async def windows(store: Store, query: Query, state: MessageState, after: str) -> AsyncIterator[Window]:
    """The windows of a state from a mark on: the rest of the one in which it lies, then those that follow."""
    mark: Mark | None = read_mark(after, Mark) if after else Mark()
    while mark is not None:
        window = await _read(store, query, state, mark)
        window.spots.sort(key=lambda spot: spot.order, reverse=query.backwards)
        last = mark.order
        if last is not None:
            window.spots = [
                spot for spot in window.spots if (spot.order < last if query.backwards else spot.order > last)
            ]
        yield window
        mark = window.following


async def _read(store: Store, query: Query, state: MessageState, mark: Mark) -> Window:
    """Rows behind the mark's key, from one part after the other, until there are enough."""
    most = min(query.look_at, _MOST_ROWS)
    spots: list[Spot] = []
    key, read = mark.key, 0
    for number in range(mark.part, len(store.parts)):
        part = store.parts[number]
        rows, words = _source(store, query, state, part, key), list[Row]()
        async for row in rows:
            words.append(row)
            if read + len(words) >= most:
                break
        read += len(words)
        is_full = read >= most
        high = words[-1].key[2:] if is_full else None
        if state is MessageState.READY:
            spots += await _ready(store, query, part, words, key, high)
        elif state is MessageState.COMPLETED:
            spots += [_of_letter(row, state) for row in words]
        else:
            spots += [_of_life(store, row.part, read_life(row).life) for row in words]
        if high is not None:
            return Window(Mark(mark.part, mark.key), spots, Mark(number, high), read)
        key = ""
    return Window(Mark(mark.part, mark.key), spots, None, read)


def _source(store: Store, query: Query, state: MessageState, part: str, key: str) -> AsyncIterator[Row]:
    if state in (MessageState.READY, MessageState.COMPLETED):
        where = IS("IsEnded") if state is MessageState.COMPLETED else IS_NOT("IsEnded")
        return store.rows.between(part, _behind("s:", key), "s;", _asked(where, query), only=_OF_LETTER)
    where = EQ("State", state.value)
    return store.rows.between(part, _behind("m:", key), "m;", _asked(where, query), only=BRIEF)


def _asked(where: Where, query: Query) -> Where:
    named = of_queues(query.queues)
    return where if named is None else where & named


def _behind(kind: str, key: str) -> str:
    # No key has a character as small as this one.
    return f"{kind}{key}!" if key else kind


async def _ready(store: Store, query: Query, part: str, letters: list[Row], low: str, high: str | None) -> list[Spot]:
    """What waits between two keys: letters whose life does not say otherwise, and what waits without a letter."""
    end, named = "m;" if high is None else f"m:{high}!", of_queues(query.queues)
    lives: dict[str, Life] = {}
    async for row in store.rows.between(part, _behind("m:", low), end, named, only=BRIEF):
        lives[row.key[2:]] = read_life(row).life
    found: list[Spot] = []
    for row in letters:
        life = lives.pop(row.key[2:], None)
        if life is None:
            found.append(_of_letter(row, MessageState.READY))
        elif life.state is MessageState.READY:
            # It stands where it was sent, however often it was lent since.
            found.append(_of_life(store, part, life, int(row.fields["Place"])))
    found += [_of_life(store, part, life) for life in lives.values() if life.state is MessageState.READY]
    return found


def _of_letter(row: Row, state: MessageState) -> Spot:
    fields = row.fields
    is_ended = state is MessageState.COMPLETED
    sent_at, ended_at = float(fields["SentAt"]), fields.get("EndedAt")
    message = Browsed(
        id=fields["Id"],
        queue=fields["Queue"],
        state=state,
        counters=_counters(fields["Counters"]) if "Counters" in fields else NO_COUNTERS,
        task=fields["Task"],
        sent_at=sent_at,
        finished_at=ended_at if is_ended else None,
    )
    moment = (sent_at if ended_at is None else ended_at) if is_ended else 0.0
    order = (moment, int(fields["Place"]), message.id)
    return Spot(order, row.part, row.key[2:], message, is_own=False)


def _of_life(store: Store, part: str, life: Life, place: int | None = None) -> Spot:
    now = store.timeline.now()
    message = Browsed(
        id=life.id,
        queue=life.queue,
        state=life.state,
        counters=life.counters,
        task=life.task or None,
        owner=life.owner,
        fence=life.fence if life.owner else None,
        deadline_in=None if life.deadline is None else life.deadline - now,
        due_in=life.due - now if life.state is MessageState.DELAYED and life.due is not None else None,
        reason=life.reason,
        sent_at=life.sent_at or None,
        finished_at=life.finished_at,
    )
    is_own = life.is_foreign or life.generation is not None or life.state is MessageState.DEAD
    is_partial = not life.is_foreign and (not life.task or not life.sent_at)
    order = (_moment(life), life.place if place is None else place, life.id)
    return Spot(order, part, row_id(life.id), message, is_own, is_partial)


def _moment(life: Life) -> float:
    match life.state:
        case MessageState.LEASED:
            return life.deadline or 0.0
        case MessageState.DELAYED:
            return life.due or 0.0
        case MessageState.DEAD | MessageState.CANCELLED:
            return life.finished_at or 0.0
    return 0.0  # what is ready stands in the order of arrival


_counters = msgspec.json.Decoder(Counters).decode


def complete(spot: Spot, letter: Letter | None) -> Spot:
    """With what an older version left to the letter."""
    if letter is None:
        return spot
    told = msgspec.structs.replace(
        spot.message,
        task=letter.task if spot.message.task is None else spot.message.task,
        sent_at=letter.sent_at if spot.message.sent_at is None else spot.message.sent_at,
    )
    return msgspec.structs.replace(spot, message=told)
