"""Foreign keys: values under our keys that Tenure did not write. They are left out, and logged once.

A value that was written by hand must not stop a worker or hide a queue.
"""

import logging
from typing import Any

import msgspec

from tenure.errors import StoreForeign

logger = logging.getLogger("tenure.redis")

#: What was logged already; this many at most are remembered.
_told: set[tuple[str, bytes]] = set()
_MOST_TOLD = 1000


def text_of(raw: bytes) -> str:
    """A name, for people; of one that is no text, as much as can be shown."""
    return raw.decode(errors="replace")


def tell(where: str, raw: bytes) -> None:
    """Say once that a value there cannot be read, and is left out."""
    if (where, raw) in _told or len(_told) >= _MOST_TOLD:
        return
    _told.add((where, raw))
    shown = raw[:80].decode(errors="backslashreplace")
    logger.warning("a value in %s was not written by Tenure (%s); it is left out. Remove it", where, shown)


def sound(queue: str, answer: Any) -> bool:
    """Whether a queue could be looked at. If not, say once why it is left out."""
    if not isinstance(answer, StoreForeign):
        _told.discard((queue, b"foreign"))
        return True
    if (queue, b"foreign") not in _told:
        _told.add((queue, b"foreign"))
        logger.error("queue %s is left out, other queues are served: %s", queue, answer)
    return False


def read(decoder: msgspec.json.Decoder[Any], raw: bytes, where: str) -> Any:
    """Decode a value. None: it cannot be read, and a finding says where."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        tell(where, raw)
        return None


def count(raw: bytes | None, where: str) -> int:
    """A number; 0 if it is not one."""
    if raw is None:
        return 0
    try:
        return max(0, int(raw))
    except ValueError:
        tell(where, raw)
        return 0
