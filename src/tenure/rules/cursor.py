"""Cursors: where a page ended, as text that only the store that made it understands.

Pure. A cursor that was cut, edited or made by another store is refused (`bad_argument`), and nothing is read.
"""

import base64
import binascii
from typing import TypeVar

import msgspec

from tenure.errors import BadArgument

T = TypeVar("T")


def write(value: msgspec.Struct) -> str:
    """A cursor for `value`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


def read(cursor: str, kind: type[T]) -> T:
    """Read back the values given to `write`. Raises `BadArgument` for any other text."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise refused(cursor) from error


def refused(cursor: str) -> BadArgument:
    """The error for a cursor, or a mark within one, that this store cannot have made."""
    msg = f"cursor {cursor[:40]!r} was not made by this store; nothing was read. Start again without a cursor"
    return BadArgument(msg)
