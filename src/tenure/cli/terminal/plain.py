"""Escapes text from elsewhere, so that an exception or a payload cannot forge a line or control a terminal.

Used by `screen.py` and `output.py` for everything that people see, and by `logs.py`.
"""

import re

#: What does something to a terminal or to the text around it: control characters (also those above 127, which some
#: terminals obey), line and paragraph separators, what turns the direction of text around, and halves of characters.
#: A tab only moves on.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROL = re.compile(f"[\n{_CONTROLS}]")
_BUT_NEWLINE = re.compile(f"[{_CONTROLS}]")


def one_line(text: str) -> str:
    r"""The text on one line: a line break in it is seen as `\n`, an escape as `\x1b`."""
    return _CONTROL.sub(_escaped, text)


def plain_lines(text: str) -> str:
    """As `one_line`, for a text of several lines."""
    return _BUT_NEWLINE.sub(_escaped, text)


def is_plain(text: str) -> bool:
    """Whether there is nothing to escape but line breaks."""
    return _BUT_NEWLINE.search(text) is None


def plain_json(raw: bytes) -> bytes:
    r"""JSON that says the same, with such characters as `\u009b`: it may be looked at on a terminal, too."""
    if raw.isascii() and b"\x7f" not in raw:
        return raw
    return _BUT_NEWLINE.sub(lambda found: f"\\u{ord(found[0]):04x}", raw.decode("utf-8", "surrogatepass")).encode()


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
