"""A part of a snapshot as JSON, made once for all who see the same. Only its times are written for each answer.

A thousand queues are half a megabyte: encoding and hashing them for each request would hold up all others. Pure.
"""

from collections.abc import Callable

import msgspec

from tenure.server.snapshots.entity_tag import AnySnapshot, tag_of
from tenure.server.snapshots.parts import SnapshotTimes

_TIMES = frozenset(SnapshotTimes.__struct_fields__)


class EncodedPart(msgspec.Struct, frozen=True):
    """The bytes that all answers of one snapshot share."""

    #: The value of `ETag`.
    tag: str
    #: A JSON object with every field but the times.
    rest: bytes

    def body(self, times: SnapshotTimes) -> bytes:
        """The whole JSON object."""
        return msgspec.json.encode(times)[:-1] + b"," + self.rest[1:]


def encode_part(snapshot: AnySnapshot, redact: Callable[[bytes], bytes]) -> EncodedPart:
    """Encode everything but the times; `redact` hides what is never shown."""
    fields = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__ if name not in _TIMES}
    return EncodedPart(tag_of(snapshot), redact(msgspec.json.encode(fields)))
