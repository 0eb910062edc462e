"""The envelope: a message as bytes, versioned, its payload left unread.

JSON, so that people and other languages can read what lies in a queue. The `tenure` field carries the
version; a message without it is foreign. A reader takes every version it knows, and says so when it
meets a newer one: such a message is for a newer worker, not for the dead letters.
"""

import msgspec

from tenure.errors import BodyUndecodable
from tenure.message import Message

VERSION = 1
_STAMP = b'"tenure"'

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Message)


class _Stamp(msgspec.Struct):
    """Just enough of any envelope to tell why it could not be read."""

    tenure: int | None = None


def encode(message: Message) -> bytes:
    """The bytes that a broker keeps."""
    return _encoder.encode(message)


def decode(raw: bytes) -> Message:
    """The message in `raw`. Raises `BodyUndecodable`; the caller keeps the bytes."""
    if _STAMP not in raw:
        msg = "not a Tenure envelope: it carries no version"
        raise BodyUndecodable(msg)
    try:
        return _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise BodyUndecodable(_explain(raw, error), newer=_is_newer(raw)) from error


def _stamp(raw: bytes) -> int | None:
    try:
        return msgspec.json.decode(raw, type=_Stamp).tenure
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError):
        return None


def _is_newer(raw: bytes) -> bool:
    stamp = _stamp(raw)
    return stamp is not None and stamp > VERSION


def _explain(raw: bytes, error: Exception) -> str:
    stamp = _stamp(raw)
    if stamp is not None and stamp > VERSION:
        return f"envelope version {stamp} is newer than this Tenure reads ({VERSION}); upgrade this worker"
    return f"not a Tenure envelope: {error}"
