"""The scripts: every act that decides about messages, for a whole batch, in one step on the server.

They lie in `lua/`, a file for each act and four that several share. A script is called by its digest; a server that
does not know it, because it was restarted or flushed, gets its text (`link.py`).
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("lua")


class Script(NamedTuple):
    """The text of a script, and the name that Redis gives it."""

    text: str
    sha: str


def _load(*names: str) -> Script:
    text = "\n".join((_FOLDER / f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script(text, hashlib.sha1(text.encode()).hexdigest())  # noqa: S324 - how Redis names scripts


SEND = _load("base", "listed", "each", "store", "send")
LEASE = _load("base", "listed", "move", "lease")
TOUCH = _load("base", "move", "touch")
ACK = _load("base", "listed", "each", "move", "store", "ack")
SETTLE = _load("base", "listed", "each", "move", "settle")
SWEEP = _load("base", "listed", "emptied", "move", "back", "sweep")
FORGET = _load("base", "listed", "emptied", "move", "forget")
LOCATE = _load("base", "locate")
JUDGE = _load("base", "judge")
RETIRE = _load("base", "listed", "move", "back", "retire")
CANCEL = _load("base", "move", "cancel")
REDRIVE = _load("base", "listed", "move", "redrive")
ASIDE = _load("base", "move", "aside")
HEAL = _load("base", "listed", "move", "heal")
HELD = _load("base", "move", "held")
FIND = _load("base", "move", "find")
LOOK = _load("base", "look")
BUSY = _load("base", "listed", "busy")
LIST = _load("base", "listed", "list")
DEPTH = _load("base", "depth")
BROWSE = _load("base", "move", "browse")
HOLDS = _load("base", "holds")
LEASES = _load("base", "move", "leases")
LENT = _load("base", "move", "lent")
LEDGER = _load("base", "move", "ledger")
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
