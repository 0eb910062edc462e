"""The envelope: a message as bytes, versioned, its payload left unread.

JSON, so that people and other languages can read the messages in a queue. The `tenure` field carries the
version; a message without it is foreign. A reader takes every version it knows, and says so when it
meets a newer one: such a message is for a newer worker, not for the dead letters.

    1    a message with its body
    2    one whose body is in a blob store (`Message.ticket`): a reader without tickets must not run it
"""

from typing import TypeVar

import msgspec

from tenure.errors import BodyUndecodable
from tenure.message import ELSEWHERE, Message

#: The newest that this Tenure reads.
VERSION = 2
_TICKETED = 2
_STAMP = b'"tenure"'
#: What stands in the place of a body that was split off.
_HOLE = b',"body":null'
_M = TypeVar("_M", bound=Message)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Message)


class _Ticketed(Message, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="tenure", tag=_TICKETED):
    """The same fields under the other version."""


_ticketed = msgspec.json.Decoder(_Ticketed)
_FIELDS = Message.__struct_fields__


class _Stamp(msgspec.Struct):
    """Just enough of any envelope to say why it could not be read."""

    tenure: int | None = None


def encode(message: Message) -> bytes:
    """The bytes that a broker keeps."""
    return _encoder.encode(message if message.ticket is None else _as(_Ticketed, message))


def decode(raw: bytes) -> Message:
    """The message in `raw`. Raises `BodyUndecodable`; the caller keeps the bytes."""
    if _STAMP not in raw:
        msg = "not a Tenure envelope: it carries no version"
        raise BodyUndecodable(msg)
    try:
        return _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError) as error:
        if _stamp(raw) == _TICKETED:
            return _decode_ticketed(raw)
        raise BodyUndecodable(_explain(raw, error), newer=_is_newer(raw)) from error


def log_fields(id: str, raw: bytes | None = None) -> dict[str, str]:
    """Fields for a log line about a message: its id, and its correlation where `raw` is its envelope."""
    fields = {"message_id": id}
    try:
        correlation = decode(raw).correlation_id if raw else None
    except BodyUndecodable:
        return fields
    return fields if correlation is None else fields | {"correlation_id": correlation}


def split(message: Message) -> tuple[bytes, bytes]:
    """The payload apart from everything else, for queues whose other readers know the payload alone."""
    plain = message if type(message) is Message else _as(Message, message)
    return encode(msgspec.structs.replace(plain, body=ELSEWHERE)), bytes(message.body)


def join(head: bytes, body: bytes) -> bytes:
    """The envelope that was split. If one of the two is not as it was, the whole cannot be read, or is for others."""
    # Within a text its quotes would be escaped, so the first is the field.
    if _HOLE in head:
        return head.replace(_HOLE, _HOLE.removesuffix(b"null") + body, 1)
    try:  # rewritten by other software
        fields = msgspec.json.decode(head, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return head + body
    return _encoder.encode(fields | {"body": msgspec.Raw(body)})


def _decode_ticketed(raw: bytes) -> Message:
    try:
        message = _as(Message, _ticketed.decode(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise BodyUndecodable(_explain(raw, error)) from error
    if message.ticket is None:
        raise BodyUndecodable("not a Tenure envelope: it says that its body lies elsewhere, and not where")
    return message


def _as(kind: type[_M], message: Message) -> _M:
    return kind(**{name: getattr(message, name) for name in _FIELDS})


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
