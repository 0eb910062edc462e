"""A copy that was seen: what it says of its message, and the lease that its holder gets.

Made of what `receiving.py` brings, and kept for `held` while a lease call has no answer (`process_memory.py`). Used by
`lending.py`, `lease_decision.py` and `touch.py`.
"""

from typing import Any

import msgspec

from tenure import envelope
from tenure.delivery_queue import ReceivedCopy
from tenure.errors import BodyUndecodable
from tenure.lease import Lease
from tenure.message import Message
from tenure.rowstore import wire
from tenure.rowstore.entry import Entry
from tenure.rowstore.receipts import receipt_of
from tenure.rowstore.traits import MIN_LEASE


class SeenCopy(msgspec.Struct, frozen=True):
    """A copy, and what it says."""

    copy: ReceivedCopy
    id: str
    #: Its envelope, whatever form it lies there in.
    raw: bytes
    #: None: it cannot be read.
    message: Message | None

    @classmethod
    def of(cls, copy: ReceivedCopy, prefix: str) -> "SeenCopy":
        """Read a copy. One that carries no id gets one of `prefix` and the service's own id."""
        raw = wire.unpack(copy.body, copy.head)
        try:
            message = envelope.decode(raw)
        except BodyUndecodable:
            return cls(copy, copy.id or f"{prefix}{copy.copy_id}", raw, None)
        return cls(copy, copy.id or message.id, raw, message)


def lease_of(seen: SeenCopy, entry: Entry, owner: str, before: float) -> Lease:
    """The lease as its holder gets it; `before` is when it was asked for (monotonic)."""
    seconds = entry.seconds or MIN_LEASE
    message, raw, copy = seen.message, seen.raw, seen.copy
    beside: dict[str, Any] = {}
    if message is None:
        texts = {name: one.value for name, one in copy.attributes.items()}
        beside = {"attributes": texts, "sent_at": copy.sent_at, "generation": entry.generation}
    if message is not None:
        told = _as_stored(message, entry)
        raw = raw if told is message else envelope.encode(told)
    return Lease(
        id=seen.id, queue=copy.physical.queue, envelope=raw, owner=owner, fence=entry.fence,
        receipt=receipt_of(entry.level, copy.receipt), seconds=seconds, deadline=before + seconds,
        counters=entry.counters, **beside,
    )  # fmt: skip


def _as_stored(message: Message, entry: Entry) -> Message:
    """The message as its entry knows it.

    A copy that was redriven where it lay has an old generation. A copy that a repeated send put there has the moment of
    the repeat; the message was sent when the first was.
    """
    if message.generation < entry.generation:
        message = msgspec.structs.replace(message, generation=entry.generation)
    if message.sent_at and entry.sent_at and message.sent_at != entry.sent_at:
        message = msgspec.structs.replace(message, sent_at=entry.sent_at)
    return message
