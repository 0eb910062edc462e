"""Carrying messages: dead letters with their bytes, cancelled and completed ones, keys.

A batch at a time. First what an entry names (a body, a line in the index, a result), then the claims of keys, then
the entries; each is inserted where there is none. So whoever ends in between leaves at most a copy of something that
nothing names yet, and the repeated batch writes what is missing.
"""

import base64
import contextlib
from collections.abc import Sequence

import msgspec

from tenure.adapters.azure.migration.earlier import EarlierTables, Message
from tenure.adapters.azure.migration.layout import DoneClaim
from tenure.envelope import decode
from tenure.errors import BodyUndecodable
from tenure.message import MessageState
from tenure.migration import Carried
from tenure.rowstore import dead_letter_index, large_values
from tenure.rowstore.entry import DONE, GONE, Claim, Entry
from tenure.rowstore.ledger import left_by
from tenure.rowstore.row_changes import CLAIM, ENTRY, Change, body_rows, claim_place, entry_place, is_own
from tenure.rowstore.store import Store
from tenure.table import RowKey

#: So many messages are carried together.
BATCH = 100


class _Kept(msgspec.Struct):
    """A message, and its claim if that is done."""

    message: Message
    done: DoneClaim | None

    @property
    def id(self) -> str:
        """Of the message."""
        told = self.message.letter or self.message.life
        return "" if told is None else told.id

    @property
    def has_key(self) -> bool:
        """Whether its claim is that of a key, which other messages may have too."""
        scope = self.message.scope
        return scope is not None and not is_own(scope)


async def carry(store: Store, tables: EarlierTables, batch: Sequence[Message]) -> Carried:
    """Carry some messages; what they were."""
    kept = await _with_claims(tables, batch)
    places = [entry_place(one.id) for one in kept]
    known = await store.rows.get(ENTRY, places)
    new = [one for one, entry in zip(kept, known, strict=True) if entry is None]
    await store.names.note(sorted({_queue(one.message) for one in new}))
    keys = await _carry_keys(store, [one for one in kept if one.has_key])
    entries = [await _entry(store, one) for one in new]

    def decide(number: int, entry: Entry | None) -> Change[None]:
        return Change(None, entries[number] if entry is None else None)

    await store.rows.change(ENTRY, [entry_place(one.id) for one in new], decide, are_new=True)
    return _count(kept, keys)


def count(batch: Sequence[Message]) -> Carried:
    """What some messages are, without looking at their claims."""
    return _count([_Kept(message, None) for message in batch], 0)


async def count_keys(tables: EarlierTables, batch: Sequence[Message]) -> int:
    """How many keys of them are done."""
    kept = await _with_claims(tables, batch)
    return len(_by_key([one for one in kept if one.has_key]))


def _count(kept: Sequence[_Kept], keys: int) -> Carried:
    states = [one.message.state for one in kept]
    return Carried(
        dead_letters=states.count(MessageState.DEAD),
        cancelled=states.count(MessageState.CANCELLED),
        completed=states.count(MessageState.COMPLETED),
        keys=keys,
    )


async def _with_claims(tables: EarlierTables, batch: Sequence[Message]) -> list[_Kept]:
    scopes = [message.scope for message in batch]
    done = iter(await tables.done([scope for scope in scopes if scope is not None]))
    return [_Kept(message, None if scope is None else next(done)) for message, scope in zip(batch, scopes, strict=True)]


def _by_key(kept: Sequence[_Kept]) -> dict[RowKey, DoneClaim]:
    found: dict[RowKey, DoneClaim] = {}
    for one in kept:
        scope = one.message.scope
        if scope is not None and one.done is not None:
            found[claim_place(scope)] = one.done
    return found


async def _carry_keys(store: Store, kept: Sequence[_Kept]) -> int:
    """The claims of keys that are done; how many were new here."""
    found = _by_key(kept)
    places = list(found)
    known = await store.rows.get(CLAIM, places)
    new = [place for place, claim in zip(places, known, strict=True) if claim is None]
    claims = [await _claim(store, place.part, found[place], id=found[place].claim.id) for place in new]

    def decide(number: int, claim: Claim | None) -> Change[bool]:
        return Change(claim is None, claims[number] if claim is None else None)

    return sum(await store.rows.change(CLAIM, new, decide, are_new=True))


async def _claim(store: Store, part: str, done: DoneClaim, *, id: str) -> Claim:
    """A done claim as it is kept now. `id` is empty where it lies in its message's own entry."""
    said, old = left_by(done.result, done.handoffs), done.claim
    claim = Claim(
        id, digest=old.digest, sent_at=old.sent_at if id else 0.0, state=DONE, fence=old.fence, top=old.fence,
        finished_at=old.finished_at,
    )  # fmt: skip
    if said is None:
        claim.result, claim.handoffs = done.result, done.handoffs
    else:
        claim.bulk = await large_values.keep(store.rows, part, said)
    return claim


async def _entry(store: Store, one: _Kept) -> Entry:
    message, life, letter = one.message, one.message.life, one.message.letter
    entry = Entry(queue=_queue(message))
    _describe(entry, message)
    if life is not None:
        entry.task, entry.sent_at = entry.task or life.task, entry.sent_at or life.sent_at
        entry.fence, entry.reason, entry.history = life.fence, life.reason, tuple(life.history)
        entry.announced, entry.finished_at, entry.wire = life.announced, life.finished_at, life.wire
        entry.announce = None if life.asked is None else life.asked.request
    elif letter is not None:
        entry.finished_at, entry.announced = letter.ended_at, letter.generation
    counters = life.counters if life is not None else letter.counters if letter is not None else entry.counters
    entry.deliveries, entry.attempts = counters.deliveries, counters.attempts
    entry.crashes, entry.lost = counters.crashes, counters.lost
    match message.state:
        case MessageState.DEAD:
            await _bury(store, entry, one)
        case MessageState.CANCELLED:
            entry.state = MessageState.CANCELLED
        case _:
            entry.state = GONE
            if one.done is not None and not one.has_key:
                entry.claim = await _claim(store, entry_place(one.id).part, one.done, id="")
    return entry


def _describe(entry: Entry, message: Message) -> None:
    """What its letter says, and its envelope where there is one."""
    letter, life = message.letter, message.life
    with contextlib.suppress(BodyUndecodable):  # not one of ours, or damaged, or its bytes went with its end
        entry.describe(decode(message.envelope))
    if letter is not None:
        entry.task, entry.sent_at = letter.task, letter.sent_at
        entry.key = None if letter.key.startswith("id:") else letter.key
        entry.digest = letter.digest if entry.key is not None else ""
        entry.generation = entry.carried = letter.generation
    if life is not None and life.generation is not None:
        entry.generation = entry.carried = life.generation


async def _bury(store: Store, entry: Entry, one: _Kept) -> None:
    """A dead letter, with its bytes as they came."""
    text = _text(one.message.envelope)
    at = entry.finished_at or entry.sent_at or 0.0
    place = await dead_letter_index.add(store, entry.queue, one.id, at=at)
    entry.pages = await store.rows.keep_body(one.id, text, body_rows(place))
    entry.state, entry.shelf = MessageState.DEAD, place


def _text(raw: bytes) -> str:
    """Bytes that are no text were damaged; a redrive would send them as base64, then and now."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode()


def _queue(message: Message) -> str:
    told = message.life or message.letter
    return "" if told is None else told.queue
