"""How a copy of a message is written as the text of a queue message, and read from it.

    {"tenure":1,"id":…,"body":{…},"row":"…"}            the envelope, with one key more
    {"image":"a.png","tenure":{"tenure":1,…}}           `wire=plain`: the payload's own keys, and one more for us
    {…,"tenure":{"foreign":id}}                         not ours, and redriven: it must carry the id it is known by
    {"tenure":{"foreign":id,"text":…,"head":…,…}}       likewise, where the text has no room for that key

Any other text is not ours, and is handed on as it came. `row` is the version of the message's row when it was sent; it
saves the first lease a read (`OutgoingCopy.version`). Programs that do not know it pass over it. Used by `queue.py`.
"""

import base64
import re

import msgspec

from tenure.adapters.azure import text as texts
from tenure.adapters.azure.wire import MOST, OURS, Head, fields_of, with_ours, without_ours
from tenure.delivery_queue import Attribute, OutgoingCopy

#: At the very end of an object: within a text its quotes would be escaped.
_ROW = re.compile(rb',"row":"((?:[^"\\]|\\["\\/])*)"\}\Z')
#: What every envelope says.
_NAMED = frozenset({OURS, "id", "queue", "task"})
_BEGIN = b'{"tenure":'

_head = msgspec.json.Decoder(Head).decode


class Unfit(Exception):
    """The copy cannot be written so; says why."""


class CopyText(msgspec.Struct, frozen=True):
    """What a text says."""

    #: None: it does not say.
    id: str | None
    body: str
    head: str = ""
    attributes: dict[str, Attribute] = {}
    version: str = ""


class _Wrapped(msgspec.Struct, omit_defaults=True):
    """A copy that has no other form."""

    foreign: str
    text: str
    head: str = ""
    attributes: dict[str, Attribute] = {}


class _Wrapper(msgspec.Struct):
    tenure: _Wrapped


_wrapper = msgspec.json.Decoder(_Wrapper).decode


def write(copy: OutgoingCopy, encoding: str) -> str:
    """The text of a copy. Raises `Unfit`."""
    body = copy.body.encode("utf-8", "surrogatepass")
    head = copy.head.encode("utf-8", "surrogatepass")
    if not copy.attributes and (fields := fields_of(body)) is not None:
        if not head and fields.keys() >= _NAMED:
            return _fit(_versioned(body, copy.version), body, encoding)
        if _is_ours(head) and OURS not in fields:
            return _fit(with_ours(body, _versioned(head, copy.version)), with_ours(body, head), encoding)
    if _is_ours(head):
        raise Unfit(
            f"its payload has a key {OURS!r} of its own"
            if fields_of(body)
            else "its payload is no JSON object, beside whose keys ours could stand"
        )
    return _foreign(copy, body)


def read(text: str) -> CopyText:
    """Read a text in any form."""
    raw = texts.read(text)
    fields = fields_of(raw) if OURS.encode() in raw else None
    ours = bytes(fields[OURS]) if fields is not None and OURS in fields else b""
    if fields is not None and ours.startswith(b"{"):
        found = _beside(text, raw, fields, ours)
        if found is not None:
            return found
    # An object that says otherwise is somebody else's; what cannot be read at all may be a damaged one of ours.
    id = texts.id_of(raw) if fields is None or fields.keys() >= _NAMED else None
    if id is None:
        return CopyText(None, text)
    body, version = _split(raw)
    try:
        return CopyText(id, body.decode(), version=version)
    except UnicodeDecodeError:
        return CopyText(id, text)


def _beside(text: str, raw: bytes, fields: dict[str, msgspec.Raw], ours: bytes) -> CopyText | None:
    """One of the forms in which our key stands among others."""
    try:
        said = _head(ours)
        if said.foreign is not None and len(fields) == 1:
            return _unwrapped(raw)
        body = without_ours(raw, fields, ours).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if said.foreign is not None:
        is_packed = not text.lstrip().startswith("{")
        return CopyText(said.foreign, base64.b64encode(body.encode()).decode() if is_packed else body)
    if said.tenure is not None and said.id is not None:
        head, version = _split(ours)
        return CopyText(said.id, body, head.decode(), version=version)
    return None


def _unwrapped(raw: bytes) -> CopyText:
    said = _wrapper(raw).tenure
    return CopyText(said.foreign, said.text, said.head, said.attributes)


def _foreign(copy: OutgoingCopy, body: bytes) -> str:
    """One that is not ours, with its id. Raises `Unfit`."""
    if not copy.head and not copy.attributes:
        inner = texts.read(copy.body)
        fields = fields_of(inner)
        if fields and OURS not in fields:
            named = with_ours(inner, msgspec.json.encode({"foreign": copy.id}))
            text = texts.write(named, "plain" if inner == body else "base64")
            if len(text.encode()) <= MOST:
                return text
    wrapped = _Wrapper(_Wrapped(copy.id, copy.body, copy.head, copy.attributes))
    text = texts.write(msgspec.json.encode(wrapped), "plain")
    if len(text.encode()) > MOST:
        raise Unfit("its text leaves no room for the id that it is known by")
    return text


def _fit(versioned: bytes, plain: bytes, encoding: str) -> str:
    """With the version, if there is room for it."""
    text = texts.write(versioned, encoding)
    return text if len(text.encode()) <= MOST else texts.write(plain, encoding)


def _versioned(raw: bytes, version: str) -> bytes:
    if not version or not raw.startswith(_BEGIN) or not raw.endswith(b"}"):
        return raw
    return raw[:-1] + b',"row":' + msgspec.json.encode(version) + b"}"


def _split(raw: bytes) -> tuple[bytes, str]:
    """The bytes as they were, and the version that was added to them."""
    found = _ROW.search(raw) if raw.startswith(_BEGIN) else None
    if found is None:
        return raw, ""
    return raw[: found.start()] + b"}", msgspec.json.decode(b'"' + found[1] + b'"', type=str)


def _is_ours(head: bytes) -> bool:
    return head.startswith(_BEGIN)
