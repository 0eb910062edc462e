"""Reading ready messages for a lease: many rows as a few columns, in one statement.

The rows of one queue, of several queues one after the other, or chosen ones. The envelope is never decoded here: a
damaged message is lent like any other, and the worker puts it aside. Used by `lending.py`.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import KEYED, READY
from tenure.lease import LeaseRequest
from tenure.message import Counters

#: Envelopes up to this size are read together, larger ones one at a time.
_SMALL_ENVELOPE = 65_536
#: Stands in no valid JSON. Where a damaged envelope contains it, all are read one at a time.
_SEPARATOR = b"\x1e"

IN_QUEUE = f"FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = ?1"
# Only what is needed: each column of an inner SELECT is copied. ?3: the largest envelope that is read here.
_COLUMNS = """
seq, message.id, CASE WHEN length(envelope) <= ?3 THEN envelope ELSE '' END AS raw,
deliveries + attempts + crashes + lost AS counted, lease_seconds, extras
"""
_FIRST = f"SELECT {_COLUMNS} {IN_QUEUE} ORDER BY priority DESC, seq LIMIT ?2"
_CHOSEN = f"SELECT {_COLUMNS} FROM message WHERE seq IN (SELECT value FROM json_each(?1))"
# One queue after the other, each in the order of its index, until there are enough: an ORDER BY would read all of them.
_OF_MANY = f"""
SELECT {_COLUMNS}, names.key AS place FROM json_each(?1) AS names CROSS JOIN message INDEXED BY message_ready
WHERE state = {READY} AND queue = names.value LIMIT ?2
"""
# The same, at most ?4 of each queue.
_SHARES_OF_MANY = f"""
SELECT {_COLUMNS}, names.key AS place FROM json_each(?1) AS names CROSS JOIN message ON seq IN (
    SELECT seq FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = names.value
    ORDER BY priority DESC, seq LIMIT ?4)
LIMIT ?2
"""
_SPREAD = f"""
SELECT count(*), max(seq) - min(seq) + 1 FROM (SELECT seq {IN_QUEUE} ORDER BY priority DESC, seq LIMIT ?2)
"""
# The last columns tell whether the messages are all alike (never lent before, and without a lease of their own), and
# whether any has a key.
_READ = f"""
SELECT json_group_array(seq), json_group_array(id), CAST(group_concat(raw, x'1e') AS BLOB),
       max(counted) = 0 AND min(counted) = 0 AND count(lease_seconds) = 0, max(extras & {KEYED})
"""
_READ_MORE = """
SELECT seq, task, lease_seconds, deliveries, attempts, crashes, lost FROM message
WHERE seq IN (SELECT value FROM json_each(?))
"""

_strings = msgspec.json.Decoder(list[str])
_numbers = msgspec.json.Decoder(list[int])


class RowBounds(NamedTuple):
    """Shortest and longest lease, and the most bytes of envelopes in one call."""

    shortest: float
    longest: float
    byte_limit: int

    def clamp(self, seconds: float) -> float:
        """`seconds`, or the nearest that can be had."""
        return min(max(seconds, self.shortest), self.longest)


class Columns(NamedTuple):
    """Messages as columns: row numbers, ids, envelopes; whether all of them are as usual, and whether any has a key."""

    seqs: list[int]
    ids: list[str]
    raws: list[bytes]
    alike: bool
    has_keys: bool


def read_first(db: sqlite3.Connection, queue: str, want: int, room: int) -> Columns:
    """The next messages of one queue, highest priority first. Envelopes too large to be read here are empty."""
    values = (queue, want, _smallest(want, room))
    return _columns(*db.execute(f"{_READ} FROM ({_FIRST})", values).fetchone())


def read_chosen(db: sqlite3.Connection, chosen: list[int], want: int, room: int) -> Columns:
    """Read these messages, in this order."""
    values = (listed(chosen), None, _smallest(want, room))
    found = _columns(*db.execute(f"{_READ} FROM ({_CHOSEN})", values).fetchone())
    place = {seq: n for n, seq in enumerate(found.seqs)}
    order = [place[seq] for seq in chosen]
    ids, raws = [found.ids[n] for n in order], [found.raws[n] for n in order]
    return Columns(chosen, ids, raws, found.alike, found.has_keys)


def read_many(db: sqlite3.Connection, queues: Sequence[str], want: int, room: int) -> tuple[Columns, list[int]]:
    """The next messages of several queues, one queue after the other; and for each the number of its queue."""
    values = (listed(queues), want, _smallest(want, room))
    *found, places = db.execute(f"{_READ}, json_group_array(place) FROM ({_OF_MANY})", values).fetchone()
    return _columns(*found), _numbers.decode(places)


def read_shares(
    db: sqlite3.Connection, queues: Sequence[str], want: int, room: int, share: int
) -> tuple[Columns, list[int]]:
    """The same, at most `share` messages of each queue."""
    values = (listed(queues), want, _smallest(want, room), share)
    *found, places = db.execute(f"{_READ}, json_group_array(place) FROM ({_SHARES_OF_MANY})", values).fetchone()
    return _columns(*found), _numbers.decode(places)


def is_scattered(db: sqlite3.Connection, queue: str, want: int) -> bool:
    """Whether the next messages of a queue are mixed with as many of others: then one of each costs fewer pages."""
    count, span = db.execute(_SPREAD, (queue, want)).fetchone()
    return bool(count > 1 and span >= 2 * count)


def fill(db: sqlite3.Connection, found: Columns, room: int, *, must_lend: bool) -> Columns:
    """Read the envelopes that are missing, one at a time, for as long as there is room for them."""
    if b"" not in found.raws:
        return found
    raws: list[bytes] = []
    for seq, known in zip(found.seqs, found.raws, strict=True):
        raw = known or _envelope(db, seq)
        room -= len(raw)
        if room < 0 and (raws or not must_lend):
            break
        raws.append(raw)
    count = len(raws)
    return Columns(found.seqs[:count], found.ids[:count], raws, found.alike, found.has_keys)


def read_more(
    db: sqlite3.Connection, request: LeaseRequest, seqs: list[int], bounds: RowBounds
) -> dict[int, tuple[float, Counters]]:
    """Seconds and counters, where they differ from message to message."""
    special = {}
    found = db.execute(_READ_MORE, (listed(seqs),)).fetchall()
    for seq, task, own_seconds, deliveries, attempts, crashes, lost in found:
        own = edited.number(own_seconds)
        seconds = request.seconds_by_task.get(task, request.seconds) if own is None else own
        counted = edited.counters((deliveries, attempts, crashes, lost))
        special[seq] = (bounds.clamp(seconds), Counters(counted[0] + 1, *counted[1:]))
    return special


def _smallest(want: int, room: int) -> int:
    """The largest envelope of messages that are read together, so that they always fit into the room."""
    return min(_SMALL_ENVELOPE, room // want)


def _columns(seqs: str, ids: str, envelopes: bytes | None, alike: int | None, keys: int | None) -> Columns:
    rows = _numbers.decode(seqs)
    raws = (envelopes or b"").split(_SEPARATOR)
    if len(raws) != len(rows):
        raws = [b""] * len(rows)
    return Columns(rows, _strings.decode(ids), raws, bool(alike), bool(keys))


def _envelope(db: sqlite3.Connection, seq: int) -> bytes:
    raw: bytes | str | None = db.execute("SELECT envelope FROM message WHERE seq = ?", (seq,)).fetchone()[0]
    return raw.encode() if isinstance(raw, str) else raw or b""
