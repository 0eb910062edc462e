"""A message as it was received: what its text and the service say of it. Made by `lending.py`."""

from typing import Any

import msgspec

from tenure import envelope
from tenure.adapters.azure import wire
from tenure.adapters.azure.entry import Asked
from tenure.errors import BodyUndecodable


class Arrival(msgspec.Struct, frozen=True):
    """A message as it was received."""

    id: str
    queue: str
    #: None: it lies in the table.
    raw: bytes | None
    message_id: str
    receipt: str
    #: The first time that the queue shows it.
    is_new: bool
    #: Not one of ours: its id is the service's.
    is_foreign: bool
    #: The form in which it stands there.
    wire: str
    task: str
    #: Wall time, by its sender; of a foreign one by the service.
    sent_at: float | None
    asked: Asked | None = None


def read_arrival(queue: str, message: Any) -> Arrival:
    """What a received message is."""
    found = wire.read(message.content)
    return Arrival(
        id=f"azure-{message.id}" if found.id is None else found.id,
        queue=queue,
        raw=found.raw,
        message_id=str(message.id),
        receipt=str(message.pop_receipt),
        is_new=message.dequeue_count == 1,
        is_foreign=found.is_foreign,
        wire=found.wire,
        task=found.task,
        sent_at=_inserted(message) if found.is_foreign else found.sent_at,
        asked=None if found.is_foreign else _asked(found.raw),
    )


def _asked(raw: bytes | None) -> Asked | None:
    """What one of ours asks for; few do, and only those are decoded here."""
    if raw is None or b'"announce"' not in raw:
        return None
    try:
        return Asked.of(envelope.decode(raw))
    except BodyUndecodable:
        return None


def _inserted(message: Any) -> float | None:
    return None if message.inserted_on is None else float(message.inserted_on.timestamp())
