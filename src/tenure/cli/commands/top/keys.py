"""The keys of a terminal: from the bytes that it sends to names. Pure.

What is not known is left out: an escape sequence must not be taken for letters.
"""

import re

_NAMED = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left",
    "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
    "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1bOH": "home", "\x1bOF": "end",
    "\x1b[5~": "page-up", "\x1b[6~": "page-down", "\x1b[Z": "back-tab",
    "\t": "tab", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x1b": "escape",
}  # fmt: skip
_KEY = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO.|\x1b|.", re.DOTALL)


def keys_in(sent: bytes) -> list[str]:
    """The names of the keys, in order; a letter is its own name."""
    found = (_NAMED.get(one, one) for one in _KEY.findall(sent.decode(errors="ignore")))
    return [one for one in found if (len(one) > 1 and not one.startswith("\x1b")) or one.isprintable()]
