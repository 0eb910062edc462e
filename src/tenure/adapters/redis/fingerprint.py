"""Fingerprints of events: four bytes each, by which the events of one message are found without reading all.

`lua/journal.lua` keeps them by position, and `lua/about.lua` searches them. Several messages may share a fingerprint;
then a page is read that has no event of the message, which costs a read and is otherwise harmless. Pure.
"""

import struct
from collections.abc import Sequence
from zlib import crc32

from tenure.event import Event

#: The mark of an event without a message. (Zeros: an older version wrote it, and nothing is known.)
_NOBODY = 0xFFFF_FFFF


def mark_bytes(message_id: str) -> bytes:
    """The mark of a message."""
    return struct.pack("<I", crc32(message_id.encode()))


def marks_of(events: Sequence[Event]) -> tuple[bytes, bytes]:
    """The mark of each event; and mark and number of the event for every other message that it names."""
    # One for each message that is completed: nothing here may take long.
    marks = [_NOBODY if event.message_id is None else crc32(event.message_id.encode()) for event in events]
    several = [(number, event) for number, event in enumerate(events) if event.data and "ids" in event.data]
    named: list[int] = []
    for number, event in several:
        ids = event.data["ids"]
        for id in ids if isinstance(ids, list | tuple) else ():
            if isinstance(id, str) and id != event.message_id:
                named += (crc32(id.encode()), number)
    return struct.pack(f"<{len(marks)}I", *marks), struct.pack(f"<{len(named)}I", *named)
