"""Sending: stores a message once.

Nothing new is stored if its id is known, if its key was sent with the same payload, or if a message with its `unique`
value is waiting; or if so many wait in its queue already. Also used by `settling.py` for hand-offs. Next on the path:
`lending.py`.
"""

import math
from collections.abc import Sequence
from operator import attrgetter

from tenure.adapters.memory.entry import MemoryEntry, Unique
from tenure.adapters.memory.store import MemoryDatabase
from tenure.adapters.memory.traits import clamped_delay, level_of
from tenure.announcement import AnnounceRequest
from tenure.broker import Refused, Sent
from tenure.claim import Scope, digest
from tenure.envelope import encode
from tenure.message import Message, MessageState, Outgoing
from tenure.record import Ending
from tenure.rules.rejections import key_conflict, of_size, queue_full
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason


def send(store: MemoryDatabase, batch: Sequence[Outgoing], now: float) -> list[Sent]:
    """Store what is new, in order, so that of two equal entries of one batch the first counts."""
    return [_send(store, outgoing, now) for outgoing in batch]


def _send(store: MemoryDatabase, outgoing: Outgoing, now: float) -> Sent:
    message = outgoing.message
    refusal = unsendable(outgoing)
    if refusal is not None:
        return Sent(message.id, refusal=refusal)
    envelope = encode(message)
    refused = of_size(message, len(envelope), store.traits.body_limit)
    if refused is not None:
        return Sent(message.id, refusal=refused)
    not_new = _not_new(store, outgoing)
    if not_new is not None:
        return not_new
    most = outgoing.most_waiting
    if most is not None and store.waiting(message.queue) >= most:
        return Sent(message.id, refusal=queue_full(message, most))
    # Only now: what is not stored takes no key.
    if message.key is not None and store.traits.keys_at_send:
        store.keys.register(Scope.of(message), message.id, digest(message), message.sent_at)
    store.add(_entry(store, outgoing, envelope, now))
    return Sent(message.id)


def _not_new(store: MemoryDatabase, outgoing: Outgoing) -> Sent | None:
    """The answer for a message that is known by its id, its key, or one that waits. None: it is new."""
    message = outgoing.message
    if store.knows(message.id):
        return Sent(message.id, duplicate=True)
    if message.key is not None and store.traits.keys_at_send:
        known = _look_at_key(store, message)
        if known is not None:
            return known
    waiting = _find_waiting(store, outgoing)
    return None if waiting is None else Sent(waiting.id, duplicate=True)


def hand_on(store: MemoryDatabase, batch: Sequence[Outgoing], now: float) -> None:
    """Store what a completed message hands on.

    No caller can get the refusal any more, so what `send` would refuse is kept as a dead letter: nothing is lost.
    """
    for outgoing in batch:
        refused = _send(store, outgoing, now).refusal
        if refused is not None:
            put_aside(store, [Refused(outgoing.message, refused)], now)


def refusal(store: MemoryDatabase, outgoing: Outgoing) -> Reason | None:
    """Why `send` would refuse it, whatever is stored. None: it would not."""
    message = outgoing.message
    return unsendable(outgoing) or of_size(message, len(encode(message)), store.traits.body_limit)


def put_aside(store: MemoryDatabase, batch: Sequence[Refused], now: float) -> None:
    """Store what was refused as dead letters, without their keys."""
    for message, reason in ((one.message, one.reason) for one in batch):
        if store.knows(message.id):
            continue
        entry = _entry(store, Outgoing(message), encode(message), now)
        entry.state, entry.reason, entry.finished_at = MessageState.DEAD, reason, store.clock.wall()
        entry.digest = None
        entry.history.append(Ending(entry.finished_at, "dead", None, reason))
        store.announcements.add(entry, MessageState.DEAD, entry.finished_at, reason=reason)
        store.add(entry)


def _look_at_key(store: MemoryDatabase, message: Message) -> Sent | None:
    """Return the answer for a key that is already registered. None: the key is new."""
    row = store.keys.get(Scope.of(message))
    if row is None:
        return None
    if row.digest == digest(message):
        return Sent(row.id, duplicate=True)
    return Sent(message.id, refusal=key_conflict(message, row.id))


def _find_waiting(store: MemoryDatabase, outgoing: Outgoing) -> MemoryEntry | None:
    """The waiting message that makes this one a duplicate. None: store it.

    It waits, was sent within the window, expires no sooner than this one, and came first.
    """
    unique = _unique(store, outgoing.message)
    if unique is None:
        return None
    seconds = outgoing.unique_seconds
    oldest = -math.inf if seconds is None else _sent_at(store, outgoing.message) - seconds
    until = _expires_at(outgoing.message)
    waiting = (
        entry
        for entry in store.uniques.get(unique, {}).values()
        if entry.sent_at >= oldest and entry.expires_at >= until
    )
    return min(waiting, key=attrgetter("seq"), default=None)


def _unique(store: MemoryDatabase, message: Message) -> Unique | None:
    """Return the scope of `unique`. None: the message has none, or this broker does not look."""
    if message.unique is None or not store.traits.unique_at_send:
        return None
    return message.queue, message.task, message.unique


def _sent_at(store: MemoryDatabase, message: Message) -> float:
    return message.sent_at or store.clock.wall()


def _expires_at(message: Message) -> float:
    return math.inf if message.expires_at is None else message.expires_at


def _entry(store: MemoryDatabase, outgoing: Outgoing, envelope: bytes, now: float) -> MemoryEntry:
    message = outgoing.message
    delay = clamped_delay(store.traits, outgoing.delay_seconds)
    return MemoryEntry(
        id=message.id,
        seq=store.next_seq(),
        queue=message.queue,
        task=message.task,
        level=level_of(store.traits, message),
        scope=Scope.of(message),
        digest=None if message.key is None else digest(message),
        unique=_unique(store, message),
        overrides=message.overrides,
        sent_at=_sent_at(store, message),
        expires_at=_expires_at(message),
        envelope=envelope,
        announce=AnnounceRequest.of(message),
        state=MessageState.DELAYED if delay > 0 else MessageState.READY,
        due=now + delay,
    )
