"""How a message stands in its queue, and what others may read of it.

    wire=envelope   {"tenure": 1, "id": …, "body": {…}}                 the usual form
    wire=plain      {"image": "a.png", "tenure": {"tenure": 1, …}}      the payload's own keys, and one more for us

Both are read, whatever the URL says, so senders and workers may be switched in any order. A message keeps its form over
returns and redrives. One without either is not ours, and stands everywhere as it came. Only when it is redriven it must
carry the id that it is known by: `{…, "tenure": {"foreign": id}}` where it is a JSON object with room for that, else
that alone, and its text stays in the table.

Used by `sending.py`, `lending.py` and whatever puts a message into a queue again. Below: `text.py`.
"""

import base64

import msgspec

from tenure import envelope
from tenure.adapters.azure import text as texts
from tenure.errors import BodyUndecodable
from tenure.message import Message

ENVELOPE, PLAIN = "envelope", "plain"
#: The key that is ours in somebody else's object.
OURS = "tenure"
#: The service takes so much text.
MOST = 64 * 1024
#: What the plain form takes more than the other, at most.
ROOM = 16
_STAMP = b'"tenure":'


class Read(msgspec.Struct, frozen=True):
    """What a text says."""

    #: Its envelope; or the text itself, if it is not ours. None: it lies in the table.
    raw: bytes | None
    #: None: it does not say.
    id: str | None
    wire: str = ENVELOPE
    is_foreign: bool = False
    #: Empty: it does not say.
    task: str = ""
    sent_at: float | None = None


class Head(msgspec.Struct):
    """What our key says."""

    tenure: int | None = None
    id: str | None = None
    task: str = ""
    sent_at: float | None = None
    foreign: str | None = None


#: What every envelope says.
_NAMED = frozenset({OURS, "id", "queue", "task"})

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_number = msgspec.json.Decoder(float | None).decode
_head = msgspec.json.Decoder(Head).decode


def read(text: str) -> Read:
    """Read a text in any form."""
    raw = texts.read(text)
    fields = fields_of(raw) if _STAMP[:-1] in raw else None
    ours = bytes(fields[OURS]) if fields is not None and OURS in fields else b""
    if fields is not None and ours.startswith(b"{"):
        found = _beside(text, raw, fields, ours)
        if found is not None:
            return found
    # An object that says otherwise is somebody else's; what cannot be read at all may be a damaged one of ours.
    id = texts.id_of(raw) if fields is None or fields.keys() >= _NAMED else None
    if id is None:
        return Read(text.encode("utf-8", "surrogatepass"), None, is_foreign=True)
    if fields is None:
        return Read(raw, id)
    try:
        return Read(raw, id, task=_text(fields["task"]), sent_at=_number(fields.get("sent_at", b"null")))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Read(raw, id)


def _beside(text: str, raw: bytes, fields: dict[str, msgspec.Raw], ours: bytes) -> Read | None:
    """One of the forms in which our key stands among others."""
    try:
        head = _head(ours)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if head.foreign is not None:
        if len(fields) == 1:
            return Read(None, head.foreign, is_foreign=True)
        body = without_ours(raw, fields, ours)
        is_packed = not text.lstrip().startswith("{")
        return Read(base64.b64encode(body) if is_packed else body, head.foreign, is_foreign=True)
    if head.tenure is not None and head.id is not None:
        return Read(
            envelope.join(ours, without_ours(raw, fields, ours)), head.id, PLAIN, task=head.task, sent_at=head.sent_at
        )
    return None


def write(raw: bytes, wire: str, encoding: str) -> str:
    """The text for an envelope."""
    if wire == PLAIN:
        try:
            head, body = envelope.split(envelope.decode(raw))
        except BodyUndecodable:
            return texts.write(raw, encoding)
        raw = with_ours(body, head)
    return texts.write(raw, encoding)


def tagged(raw: bytes, id: str) -> str:
    """The text of a message that is not ours, with the id that it is known by."""
    head = msgspec.json.encode({"foreign": id})
    inner = texts.read(raw.decode("utf-8", "surrogatepass"))
    fields = fields_of(inner)
    if fields and OURS not in fields:
        text = texts.write(with_ours(inner, head), "plain" if inner == raw else "base64")
        if len(text.encode()) < MOST:
            return text
    return texts.write(b"{" + _STAMP + head + b"}", "plain")


def verbatim(raw: bytes) -> str | None:
    """The text of a message that is not ours, as it came. None: the service would not take it so."""
    text = raw.decode("utf-8", "replace")
    if texts.is_fit(text) and text.encode() == raw:
        return text
    packed = base64.b64encode(raw).decode()
    return packed if len(packed) <= MOST else None


def refusal(message: Message) -> str:
    """Why a message cannot stand in its queue in the plain form. Empty: it can."""
    if message.ticket is not None:
        return "its body is too large for the queue, and other readers of it would not find it elsewhere"
    fields = fields_of(bytes(message.body))
    if fields is None:
        return "its payload is no JSON object, beside whose keys ours could stand"
    return f"its payload has a key {OURS!r} of its own" if OURS in fields else ""


def fields_of(raw: bytes) -> dict[str, msgspec.Raw] | None:
    """The keys of an object. None: it is none."""
    try:
        return _object(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def with_ours(body: bytes, head: bytes) -> bytes:
    """The object with our key at its end."""
    body = body.strip()
    comma = b"," if body[1:-1].strip() else b""
    return body[:-1] + comma + _STAMP + head + b"}"


def without_ours(raw: bytes, fields: dict[str, msgspec.Raw], head: bytes) -> bytes:
    """The object without our key: byte for byte as it was, if nobody has written it anew."""
    ending = _STAMP + head + b"}"
    raw = raw.strip()
    if raw.endswith(ending):
        return raw.removesuffix(ending).removesuffix(b",") + b"}"
    return msgspec.json.encode({name: value for name, value in fields.items() if name != OURS})
