"""Fingerprints of events: four bytes for each, by which those of one message are found without reading all.

`lua/journal.lua` keeps them by place, and `lua/about.lua` looks through them. Pure.
"""

import struct
from collections.abc import Sequence
from zlib import crc32

from tenure.event import Event

#: Zeros say that nothing is known: an older version wrote the event.
_UNKNOWN = 0
_NOBODY = 0xFFFF_FFFF


def mark(message_id: str) -> int:
    """The mark of a message."""
    number = crc32(message_id.encode())
    return 1 if number in (_UNKNOWN, _NOBODY) else number


def mark_bytes(message_id: str) -> bytes:
    """As it is kept."""
    return struct.pack("<I", mark(message_id))


def marks_of(events: Sequence[Event]) -> tuple[bytes, bytes]:
    """The mark of each event; and mark and number of the event for every other message that it names."""
    marks: list[int] = []
    named: list[int] = []
    for number, event in enumerate(events):
        own = event.message_id
        if event.data and (ids := event.data.get("ids")):
            for id in ids if isinstance(ids, list | tuple) else ():
                if isinstance(id, str) and id != own:
                    named += (mark(id), number)
        marks.append(_NOBODY if own is None else mark(own))
    return struct.pack(f"<{len(marks)}I", *marks), struct.pack(f"<{len(named)}I", *named)
