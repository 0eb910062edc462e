"""Text from elsewhere, made plain: what an exception or a payload says cannot forge a line or steer a terminal.

Used by `logs.py`, `failing.py` and whatever shows a message's reason.
"""

import re

#: What moves a cursor, clears a screen or begins a line; a tab only moves on.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_BUT_NEWLINE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    r"""The text on one line: a line break in it is seen as `\n`, an escape as `\x1b`."""
    return _CONTROL.sub(_escaped, text)


def plain_lines(text: str) -> str:
    """As `one_line`, for a text of several lines."""
    return _BUT_NEWLINE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
