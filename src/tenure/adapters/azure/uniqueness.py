"""Uniqueness: while a message waits, another one like it is not stored.

    u:<word>   the messages that were sent with the word (`rules/uniqueness.py`)

Whether one of them waits, its letter and its life say. Only messages that are to be unique pay: two calls to the table,
and two look-ups for each message that is named. Used by `sending.py`.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from tenure.adapters.azure.entry import letter_key, read_letter
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import LT
from tenure.broker import Sent
from tenure.message import Message, MessageState, Outgoing
from tenure.rules.uniqueness import PAUSE_SECONDS, Named, UniqueStanding, standing, with_this

_decode = msgspec.json.Decoder(tuple[Named, ...]).decode


async def send(store: Store, outgoing: Outgoing, put: Callable[[Outgoing], Awaitable[Sent]]) -> Sent:
    """Store a message unless one like it waits. `put` stores it without asking."""
    message = outgoing.message
    sent_at, (part, key) = message.sent_at or store.clock.wall(), _place(store, message)
    while True:
        row, mine = await asyncio.gather(store.rows.get(part, key), store.letter(message.id))
        if mine is not None:
            break  # known by its id: nothing else counts
        known = () if row is None else _decode(row.fields["Named"])
        looked = await asyncio.gather(*(_look(store, one) for one in known))
        named, seats = [one for one, _ in looked], [seat for _, seat in looked]
        one = standing(outgoing, sent_at, named, seats, store.timeline.now())
        if one is not None and one.is_put:
            return Sent(one.id, duplicate=True)
        if one is not None:
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        after = with_this(outgoing, sent_at, named, seats, store.timeline.now())
        fields = {"Named": msgspec.json.encode(after), "At": store.clock.wall()}
        new = Row(part, key, fields, "" if row is None else row.etag)
        if await store.rows.commit_one(Change("insert" if row is None else "replace", new)) is not None:
            break
    return await put(outgoing)


async def _look(store: Store, one: Named) -> tuple[Named, UniqueStanding]:
    """Where it is, and whether it is known to lie in its queue."""
    # In this order: a life that has ended is told by the letter from the same moment on.
    kept = await store.find(one.id)
    letter = await store.letter(one.id)
    if kept is not None and kept.life.state is not MessageState.DELAYED:
        return msgspec.structs.replace(one, is_put=True), _SEATS.get(kept.life.state, UniqueStanding.OVER)
    if letter is None:
        return one, UniqueStanding.UNSEEN
    if letter.is_ended:
        return one, UniqueStanding.OVER
    # A delay has a life from the beginning.
    is_put = letter.is_put or (kept is not None and kept.life.deliveries > 0)
    return msgspec.structs.replace(one, is_put=is_put), UniqueStanding.WAITING


_SEATS = {
    MessageState.READY: UniqueStanding.WAITING,
    MessageState.LEASED: UniqueStanding.OPEN,
    MessageState.DEAD: UniqueStanding.OPEN,
}


async def forgettable(store: Store, part: str, before: float) -> list[Row]:
    """Rows of words that were last sent before that, and of whose messages none is left."""
    found = []
    for row in await store.rows.scan(part, "u:", LT("At", before)):
        ids = [one.id for one in _decode(row.fields["Named"])]
        letters = await store.rows.get_all((store.part(id), letter_key(id)) for id in ids)
        if all(letter is None or read_letter(letter).is_ended for letter in letters):
            found.append(row)
    return found


def _place(store: Store, message: Message) -> tuple[str, str]:
    words = msgspec.json.encode([message.queue, message.task, message.unique])
    word = hashlib.sha256(words).hexdigest()[:40]
    return store.part(word), f"u:{word}"
