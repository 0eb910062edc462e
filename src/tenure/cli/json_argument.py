"""JSON on the command line: an argument, or standard input. Used by `submit` and `dead edit`."""

import sys

import msgspec

from tenure.errors import PayloadInvalid


def json_bytes(text: str, example: str, hint: str = "", *, consequence: str = "Nothing was sent") -> bytes:
    """The bytes of a JSON text, as they were given; `-` reads standard input. Raises `PayloadInvalid`."""
    raw = sys.stdin.buffer.read() if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the payload is not JSON: {error}; write it as {example}{hint}. {consequence}"
        raise PayloadInvalid(msg) from error
    return raw
