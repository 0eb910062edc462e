"""The scripts: every act that decides about messages, for a whole batch, in one step on the server.

They are in `lua/`, a file for each act and some that several share. A script is called by its digest; a server that
does not know it, because it was restarted or flushed, gets its text (`topology.py`).
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("lua")


class Script(NamedTuple):
    """The text of a script, and the name that Redis gives it."""

    text: str
    sha: str


def _load(*names: str) -> Script:
    return _script("\n".join(map(_read, names)))


def _around(inner: str, before: Sequence[str], after: str) -> Script:
    """A script in which another one is a function of its name, without arguments."""
    text = _read(inner)
    return _script("\n".join([*map(_read, before), f"local function {inner}()", text, "end", _read(after)]))


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text(encoding="utf-8")


def _script(text: str) -> Script:
    return Script(text, hashlib.sha1(text.encode()).hexdigest())  # noqa: S324 - how Redis names scripts


SEND = _load("base", "listed", "each", "announce", "store", "send")
LEASE = _load("base", "listed", "announce", "move", "lease")
TOUCH = _load("base", "move", "touch")
ACK = _load("base", "listed", "each", "announce", "move", "store", "ack")
SETTLE = _load("base", "listed", "each", "announce", "move", "settle")
SWEEP = _load("base", "listed", "emptied", "announce", "move", "back", "sweep")
FORGET = _load("base", "listed", "emptied", "move", "forget")
ERASE = _load("base", "move", "erase")
REPLACE_JOURNAL = _load("base", "replace_journal")
LOCATE = _load("base", "locate")
JUDGE = _load("base", "judge")
RETIRE = _load("base", "listed", "move", "back", "retire")
CANCEL = _load("base", "announce", "move", "cancel")
REDRIVE = _load("base", "listed", "move", "redrive")
PROMOTE = _load("base", "listed", "move", "promote")
ASIDE = _load("base", "announce", "move", "aside")
HEAL = _load("base", "listed", "announce", "move", "heal")
HELD = _load("base", "move", "held")
FIND = _load("base", "move", "find")
LIMITED_LEASE = _around("lease", ("base", "listed", "announce", "move", "limits", "limit_before"), "limited")
LIMITED_LOOK = _load("base", "ready", "limits", "limited_look")
TOKEN = _load("base", "token")
LOOK = _load("base", "ready", "look")
BUSY = _load("base", "listed", "busy")
LIST = _load("base", "listed", "list")
DEPTH = _load("base", "depth")
BROWSE = _load("base", "move", "browse")
HOLDS = _load("base", "holds")
LEASES = _load("base", "move", "leases")
LENT = _load("base", "move", "lent")
LEDGER = _load("base", "announce", "move", "ledger")
ANNOUNCED = _load("base", "announce", "announced")
NOTE = _load("base", "move", "note")
JOURNAL = _load("base", "journal")
ABOUT = _load("base", "about")
TALLY = _load("base", "tally")
ACTS = _load("base", "acts")
SAMPLE = _load("base", "sample")
BOARD = _load("base", "board")
POST = _load("base", "post")
KEY_VALUE = _load("base", "key_value")
TURN = _load("base", "turn")
ROSTER = _load("base", "roster")
TABLE = _load("table")
PAGE = _load("page")
