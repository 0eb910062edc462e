"""Sending: messages made ready for the script that stores them, once each (`lua/store.lua`).

A plain message is four values. What else there is to say of one (a key, a delay, limits of its own) goes along as JSON,
and only such messages have a hash of their own on the server.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure import envelope
from tenure.adapters.redis import together
from tenure.adapters.redis.asking import ASKS, request_text
from tenure.adapters.redis.naming import scope_text, unique_text
from tenure.adapters.redis.script import SEND
from tenure.adapters.redis.store import RedisStore, micros
from tenure.announcement import AnnounceRequest
from tenure.broker import Refused, Sent
from tenure.claim import Scope, digest
from tenure.message import MAX_PRIORITY, NO_OVERRIDES, Message, Outgoing
from tenure.rules.rejections import key_conflict, of_size, queue_full
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason

_encode = msgspec.json.Encoder().encode
#: Messages in one run of the script.
_PIECE = 250
_LEVELS = [str(level) for level in range(MAX_PRIORITY + 1)]


class QueueSend(msgspec.Struct):
    """The messages that one call sends to one queue."""

    #: Where each entry stands in the batch.
    places: list[int] = []
    raws: list[bytes] = []
    #: They are refused if so many wait there. None: any number may.
    most: int | None = None


def entry_of(outgoing: Outgoing, raw: bytes, wall: float, refusal: Reason | None = None) -> tuple[Any, ...]:
    """The values of one message."""
    message = outgoing.message
    level = _LEVELS[max(0, min(MAX_PRIORITY, message.priority))]
    sent_at = message.sent_at or wall
    tail = f"|{sent_at!r}|{message.task}"
    if message.announce:
        tail += f"{ASKS}{request_text(AnnounceRequest.of(message), message.generation)}"
    if (
        outgoing.delay_seconds <= 0
        and message.key is None
        and message.unique is None
        and message.overrides is NO_OVERRIDES
        and refusal is None
    ):
        return (level, message.id, tail, raw)
    extras = _extras(outgoing, sent_at, refusal)
    if not extras:
        return (level, message.id, tail, raw)
    return (f"x{level}", message.id, tail, raw, _encode(extras))


def _extras(outgoing: Outgoing, sent_at: float, refusal: Reason | None) -> dict[str, object]:
    message = outgoing.message
    extras: dict[str, object] = {}
    if refusal is not None:
        return extras | {"r": _encode(refusal).decode()}
    if outgoing.delay_seconds > 0:
        extras["d"] = micros(outgoing.delay_seconds)
    if message.key is not None:
        extras |= {"k": scope_text(Scope.of(message)), "g": digest(message)}
    if message.unique is not None:
        extras["u"] = unique_text(message.task, message.unique)
        if outgoing.unique_seconds is not None:
            extras["w"] = sent_at - outgoing.unique_seconds
        if message.expires_at is not None:
            extras["ex"] = message.expires_at
    if message.overrides.lease_seconds is not None:
        extras["s"] = micros(message.overrides.lease_seconds)
    if message.overrides.max_attempts is not None:
        extras["ma"] = message.overrides.max_attempts
    return extras


async def send(store: RedisStore, batch: Sequence[Outgoing], body_limit: int) -> list[Sent]:
    """Store messages. One answer for each, in order."""
    answers: list[Sent | None] = [None] * len(batch)
    parcels: dict[tuple[str, int | None], QueueSend] = {}
    for place, outgoing in enumerate(batch):
        message = outgoing.message
        refusal = unsendable(outgoing)
        if refusal is not None:
            answers[place] = Sent(message.id, refusal=refusal)
            continue
        raw = envelope.encode(message)
        refused = of_size(message, len(raw), body_limit)
        if refused is not None:
            answers[place] = Sent(message.id, refusal=refused)
            continue
        most = outgoing.most_waiting
        parcel = parcels.get((message.queue, most))
        if parcel is None:
            parcel = parcels[message.queue, most] = QueueSend(most=most)
        parcel.places.append(place)
        parcel.raws.append(raw)
    pieces = [(queue, piece) for (queue, _), parcel in parcels.items() for piece in _pieces(parcel)]
    if pieces:
        queues = dict.fromkeys(queue for queue, _ in parcels)
        await store.make_known(queues)
        await store.make_announcing(one.message for one in batch)
        runs = list(together.groups(store, pieces, lambda one: len(one[1].places)))
        calls = (together.call(store, SEND, ("",), [_part(store, *one, batch) for one in some]) for some in runs)
        told = await together.run(store, calls, [len(some) for some in runs])
        for (_, piece), answer in zip(pieces, told, strict=True):
            _tell(piece, [batch[place].message for place in piece.places], answer, answers)
        await store.hint(queues)
    return [answer for answer in answers if answer is not None]


def refusal(outgoing: Outgoing, body_limit: int) -> Reason | None:
    """Why `send` would refuse it, whatever the server says. None: it would not."""
    message = outgoing.message
    return unsendable(outgoing) or of_size(message, len(envelope.encode(message)), body_limit)


async def put_aside(store: RedisStore, batch: Sequence[Refused]) -> None:
    """Store refused messages as dead letters, without their keys. A known one is left as it is."""
    by_queue: dict[str, list[Refused]] = {}
    for one in batch:
        by_queue.setdefault(one.message.queue, []).append(one)
    await store.make_known(by_queue)
    await store.make_announcing(one.message for one in batch)
    calls, wall = [], store.clock.wall()
    for queue, some in by_queue.items():
        entries = [entry_of(Outgoing(one.message), envelope.encode(one.message), wall, one.reason) for one in some]
        values = [value for entry in entries for value in entry]
        calls.append(together.call(store, SEND, ("lenient",), [together.CommandPart(queue, [len(some), *values])]))
    await store.run_all(calls, keeps=True)


def _pieces(parcel: QueueSend) -> list[QueueSend]:
    """A script holds up everybody else while it runs; and the server stores one piece while the next is written."""
    if len(parcel.places) <= _PIECE:
        return [parcel]
    starts = range(0, len(parcel.places), _PIECE)
    return [
        QueueSend(parcel.places[start : start + _PIECE], parcel.raws[start : start + _PIECE], parcel.most)
        for start in starts
    ]


def _part(store: RedisStore, queue: str, parcel: QueueSend, batch: Sequence[Outgoing]) -> together.CommandPart:
    wall = store.clock.wall()
    count = len(parcel.places)
    arguments: list[Any] = [count if parcel.most is None else f"{count}/{max(0, parcel.most)}"]
    for place, raw in zip(parcel.places, parcel.raws, strict=True):
        arguments += entry_of(batch[place], raw, wall)
    return together.CommandPart(queue, arguments)


def _tell(parcel: QueueSend, messages: Sequence[Message], told: Any, answers: list[Sent | None]) -> None:
    if isinstance(told, int):
        for place, message in zip(parcel.places, messages, strict=True):
            answers[place] = Sent(message.id)
        return
    for place, message, word in zip(parcel.places, messages, told, strict=True):
        other = word[1:].decode()
        if not word:
            answers[place] = Sent(message.id)
        elif word[:1] == b"=":
            answers[place] = Sent(other or message.id, duplicate=True)
        elif word == b"+":
            answers[place] = Sent(message.id, refusal=queue_full(message, parcel.most or 0))
        else:
            answers[place] = Sent(message.id, refusal=key_conflict(message, other))
