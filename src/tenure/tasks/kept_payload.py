"""The payload of a completed message, kept for debugging where a task asks for it (`keep_payload=True`).

It is part of the `completed` event, so it costs no extra write, and it is forgotten with the journal
(`TENURE_JOURNAL_KEEP`). Written by `runtime/path/reporting.py`, shown by `tenure show`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tenure.event import Event, EventKind

#: This many bytes of a payload are kept: an event is one of many in a row of a table.
KEPT_BYTES = 16_384


class KeptPayload(msgspec.Struct, frozen=True):
    """The kept part of a payload."""

    #: JSON; its beginning, where it was larger than `KEPT_BYTES`.
    text: str
    #: Bytes that the whole payload had.
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut off."""
        return self.size <= KEPT_BYTES


def fields_of(body: bytes) -> dict[str, object]:
    """Return it as fields for the data of an event."""
    return {"payload": body[:KEPT_BYTES].decode("utf-8", "ignore"), "payload_bytes": len(body)}


def find(events: Iterable[Event]) -> KeptPayload | None:
    """The payload as the latest of these events has it. None: it was not kept."""
    kept = [_read(event.data) for event in events if event.kind is EventKind.COMPLETED]
    return next((one for one in reversed(kept) if one is not None), None)


def _read(data: Mapping[str, object]) -> KeptPayload | None:
    text, size = data.get("payload"), data.get("payload_bytes")
    return KeptPayload(text, size) if isinstance(text, str) and isinstance(size, int) else None
