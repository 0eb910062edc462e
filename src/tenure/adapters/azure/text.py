"""A message's text: how its bytes stand in the queue, and how any text is read.

Written as plain JSON (so that people and old workers read it) or base64 (as Azure Functions do), by the option
`encoding`; what XML cannot carry is always base64. Read: both, whatever was asked for.
"""

import base64
import binascii
import re

import msgspec

#: Characters that must not stand in XML, or would not come back as they were.
_UNFIT = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*\Z")
_ID = re.compile(rb'"id"\s*:\s*"((?:[^"\\]|\\.)+)"')


class _Named(msgspec.Struct):
    id: str | None = None
    tenure: int | None = None


_decoder = msgspec.json.Decoder(_Named)


def write(raw: bytes, encoding: str) -> str:
    """The text for these bytes."""
    if encoding == "plain":
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = ""
        # What would be taken for base64 when it is read must be written so.
        if text and is_fit(text) and read(text) == raw:
            return text
    return base64.b64encode(raw).decode("ascii")


def is_fit(text: str) -> bool:
    """Whether it comes back as it was."""
    return not _UNFIT.search(text)


def read(text: str) -> bytes:
    """The bytes of this text. Base64 only if it can be nothing else that people send: JSON never can."""
    if len(text) % 4 == 0 and _BASE64.match(text):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass  # then it is just text
    return text.encode("utf-8", "surrogatepass")


def id_of(raw: bytes) -> str | None:
    """The logical id that an envelope names, also a damaged one. None: it is not one of ours."""
    if b'"tenure"' not in raw:
        return None
    try:
        named = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _ID.search(raw)
        return found.group(1).decode("utf-8", "replace") if found else None
    return named.id if named.tenure is not None else None
