"""Announcing: the ends of messages that asked for it wait here until they are announced.

What a message asks for stands in its row, in the column `announce`: as long as it stands there, the end of this
generation was not announced. So a row that has ended with it *is* an announcement, in the step that ends it, whichever
that is, and the partial index `message_announced` finds it. An ack of such messages does nothing more than an ack of
others. What may not wait in the row stands in the table `announcement`: a claim that is sealed while its message is
still leased, and a dead letter that is redriven or deleted before its end was announced (`set_apart`).

A place is store time, then 0 for the table or 1 for a row, then the number there: of one moment, what was set apart
ended first. `rules/announcing.py` says which ends
count. Read by `broker.py`.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.states import COMPLETED, DEAD, STATES
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.announcement import RESULT_LIMIT, Announcement, AnnounceRequest
from tenure.message import Message, MessageState
from tenure.rules.announcing import announcement
from tenure.verdict import Reason

#: Of a row: it has ended, and its end is not announced. The words of the index.
_WAITS = f"announce IS NOT NULL AND state >= {COMPLETED}"
#: A result lies in the row, or beside it (`settling.py`). Of a large one its length is read.
_BOUNDED = f"iif(length(result) > {RESULT_LIMIT}, length(result), result)"
_ROW = f"""
SELECT moment, 1, seq, state, id, queue, task, announce, CAST(finished_at * 1000000 + 0.5 AS INTEGER) AS ended,
    CASE state WHEN {COMPLETED} THEN
        iif(result IS NULL, (SELECT {_BOUNDED} FROM outcome WHERE outcome.seq = message.seq), {_BOUNDED})
        WHEN {DEAD} THEN reason END AS about
FROM message
"""
_ROWS = f"""
{_ROW} INDEXED BY message_announced
WHERE {_WAITS} AND moment >= ?1 AND (moment > ?1 OR seq > ?2) AND typeof(moment) = 'integer'
ORDER BY moment, seq LIMIT ?3
"""
# Many rows as a few columns: a step of its own for each row would pass the interpreter's lock to the loop and back.
# ?4: the largest result that is read so; the last column tells whether all are.
_COLUMNS = f"""
SELECT json_group_array(moment), json_group_array(seq), json_group_array(state), json_group_array(id),
    json_group_array(queue), json_group_array(task), json_group_array(ended),
    CAST(group_concat(announce, x'1e') AS BLOB), CAST(group_concat(coalesce(about, ''), x'1e') AS BLOB), min(is_small)
FROM (SELECT *, typeof(about) <> 'integer' AND coalesce(length(about), 0) <= ?4 AS is_small FROM ({_ROWS}))
"""
_THESE = f"{_ROW} WHERE {_WAITS} AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
_APART = """
SELECT moment, 0, seq, data FROM announcement WHERE moment >= ?1 AND (moment > ?1 OR seq > ?2)
ORDER BY moment, seq LIMIT ?3
"""
_CLEAR = "UPDATE message SET announce = NULL WHERE seq IN (SELECT value FROM json_each(?))"
#: A row that was redriven since it was read is in another generation; one that took its number ended later.
_FORGET = f"{_CLEAR} AND state >= {COMPLETED} AND moment <= ? AND substr(announce, 1, ?) = ?"
_HIGHEST = 2**63 - 1
#: Row numbers have at most 63 bits.
_LONGEST_NUMBER = 18
#: Stands in no JSON. Where something that was edited by hand contains it, rows are read one at a time.
_SEPARATOR = b"\x1e"
#: Results up to this size are read together, larger ones one at a time.
_SMALL_RESULT = 4096
#: Bytes of results that one call reads, about. One announcement is read whatever its size.
_BYTES = 4 * 1024 * 1024


class Asked(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The column `announce`. The generation comes first, so that a statement can look at it."""

    generation: int
    targets: tuple[str, ...]
    client: str | None = None
    correlation_id: str | None = None


#: Store time, whether it is in a row, and the number there.
_Place = tuple[int, int, int]
_START: _Place = (0, 0, 0)

_encode = msgspec.json.Encoder().encode
_asked = msgspec.json.Decoder(Asked)
_reason = msgspec.json.Decoder(Reason)
_numbers = msgspec.json.Decoder(list[int])
_strings = msgspec.json.Decoder(list[str])
_announcement = msgspec.json.Decoder(Announcement)


def asked_of(message: Message) -> bytes | None:
    """The column `announce` of a new row."""
    if not message.announce:
        return None
    return _encode(Asked(message.generation, message.announce, message.client, message.correlation_id))


def ask(tx: WriteTransaction, messages: Sequence[tuple[int, Message]]) -> None:
    """The next end of these is to be announced, as they say. By row."""
    rows = [(seq, asked) for seq, message in messages if (asked := asked_of(message)) is not None]
    for piece in pieces(rows):
        tx.db.execute(_set_asked(len(piece)), [value for row in piece for value in row])


def learn(tx: WriteTransaction, requests: Iterable[tuple[str, int, AnnounceRequest]]) -> None:
    """What messages ask for that Tenure did not send: id, generation and request. What stands there already stays."""
    for id, generation, request in requests:
        asked = _encode(Asked(generation, request.targets, request.client, request.correlation_id))
        tx.db.execute(
            f"UPDATE message SET announce = ? WHERE id = ? AND announce IS NULL AND state < {COMPLETED}", (asked, id)
        )


def announce_sealed(tx: WriteTransaction, results: Sequence[tuple[str, bytes]]) -> None:
    """Announce messages whose claim was sealed and which have not ended: by id, with the result."""
    rows = tx.db.execute(
        "SELECT seq, id, queue, task, announce FROM message WHERE announce IS NOT NULL"
        f" AND id IN (SELECT value FROM json_each(?)) AND state < {COMPLETED} ORDER BY seq",
        (listed([id for id, _ in results]),),
    ).fetchall()
    by_id, told = dict(results), list[Announcement]()
    for _, id, queue, task, text in rows:
        asked = edited.read(_asked, text)
        if asked is not None:
            told.append(announcement(
                AnnounceRequest(asked.targets, asked.client, asked.correlation_id), id=id, queue=queue, task=task,
                generation=asked.generation, ending=MessageState.COMPLETED, ended_at=tx.wall, result=by_id[id],
            ))  # fmt: skip
    _write(tx, [(tx.now, one) for one in told])
    silence(tx, [row[0] for row in rows])


def silence(tx: WriteTransaction, rows: Sequence[int]) -> None:
    """The end of these is not announced, or was already."""
    if rows:
        tx.db.execute(_CLEAR, (listed(rows),))


def set_apart(tx: WriteTransaction, rows: Sequence[int]) -> None:
    """These dead letters are about to be changed: keep the announcements of their ends that wait elsewhere."""
    waiting = tx.db.execute(_THESE, (listed(rows),)).fetchall() if rows else []
    if waiting:
        _write(tx, [(edited.count(row[0]), one) for row in waiting if (one := _of_row(row)) is not None])
        silence(tx, [row[2] for row in waiting])


def read(view: ReadView, after: str, limit: int) -> list[Announcement]:
    """The next announcements behind a place, oldest first. Fewer than `limit` although there are more: large ones."""
    place, found, size = _place(after), list[Announcement](), 0
    while len(found) < limit and size < _BYTES:
        most = limit - len(found)
        rows = _rows(view, *_before(place, 1), most)
        is_end = len(rows) < most
        if apart := view.db.execute(_APART, (*_before(place, 0), most)).fetchall():
            rows = _until_large(sorted([*rows, *apart], key=itemgetter(0, 1, 2))[:most])
            is_end = is_end and len(apart) < most
        if not rows:
            break
        some = [one for row in rows if (one := _of_row(row)) is not None]
        size += sum([len(one.result or b"") for one in some])
        found += some
        place = rows[-1][:3]
        if is_end and len(rows) < most:
            break
    return found


def forget(tx: WriteTransaction, batch: Sequence[Announcement]) -> None:
    """These are announced. One without a place, or that is gone, is passed over."""
    by_generation: dict[int, list[str]] = {}
    moments: set[str] = set()
    for one in batch:
        moment, _, rest = one.place.partition("-1-")
        if rest.isascii() and rest.isdecimal() and len(rest) <= _LONGEST_NUMBER:
            moments.add(moment)
            by_generation.setdefault(one.generation, []).append(rest)
    newest = max([_place(f"{moment}-1-1")[0] for moment in moments], default=0)
    for generation, rows in by_generation.items():
        begin = b"[%d," % generation
        tx.db.execute(_FORGET, (f"[{','.join(rows)}]", newest, len(begin), begin))
    if tx.db.execute("SELECT EXISTS (SELECT 1 FROM announcement)").fetchone()[0]:
        # Also those that were read from a row: it may have been set apart since.
        endings = [(one.id, one.generation) for one in batch if one.place]
        tx.db.execute(
            "DELETE FROM announcement WHERE seq IN (SELECT told.seq FROM json_each(?) AS entry"
            " CROSS JOIN announcement AS told ON told.id = json_extract(entry.value, '$[0]')"
            " AND told.generation = json_extract(entry.value, '$[1]'))",
            (listed(endings),),
        )


def needed_records(tx: WriteTransaction, ids: Sequence[str]) -> set[str]:
    """Those of these messages whose result is needed by an announcement that is set apart."""
    rows = tx.db.execute(
        "SELECT id FROM announcement WHERE is_large AND id IN (SELECT value FROM json_each(?))", (listed(ids),)
    )
    return {id for (id,) in rows.fetchall()}


def _write(tx: WriteTransaction, announcements: Sequence[tuple[int, Announcement]]) -> None:
    """Keep announcements of these moments in the table."""
    rows = [
        (moment, one.id, one.generation, one.large_result is not None, _encode(one)) for moment, one in announcements
    ]
    tx.db.executemany("INSERT INTO announcement (moment, id, generation, is_large, data) VALUES (?, ?, ?, ?, ?)", rows)


def _rows(view: ReadView, moment: int, number: int, most: int) -> list[tuple[Any, ...]]:
    """What waits in rows, at once if it can be. Fewer than there are if they are large."""
    # Where something was edited by hand it may be no text, or no number.
    with contextlib.suppress(sqlite3.OperationalError, msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        found = view.db.execute(_COLUMNS, (moment, number, most, _SMALL_RESULT)).fetchone()
        if found[-1] is None:
            return []
        if found[-1]:
            moments, seqs, states, endings = (_numbers.decode(found[n]) for n in (0, 1, 2, 6))
            ids, queues, tasks = (_strings.decode(found[n]) for n in (3, 4, 5))
            asked, abouts = (raw.split(_SEPARATOR) for raw in found[7:9])
            return list(
                zip(
                    moments, repeat(1, len(seqs)), seqs, states, ids, queues, tasks, asked, endings, abouts, strict=True
                )
            )
    return _until_large(view.db.execute(_ROWS, (moment, number, most)))


def _until_large(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """As many of them as one call may return."""
    some: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row[-1]) if isinstance(row[-1], bytes | str) else 0
        if size > _BYTES:
            break
    return some


def _of_row(row: tuple[Any, ...]) -> Announcement | None:
    """None: it was edited by hand, and is none."""
    if not row[1]:
        one = edited.read(_announcement, row[3])
        return None if one is None else msgspec.structs.replace(one, place=f"{row[0]}-0-{row[2]}")
    moment, _, seq, state, id, queue, task, announce, ended, about = row
    asked, ending = _read_asked(announce), STATES.get(state)
    if asked is None or ending is None or ended is None or type(queue) is not str or type(task) is not str:
        return None
    place, ended_at = f"{moment}-1-{seq}", ended / 1e6
    if state == COMPLETED and type(about) is bytes:
        return Announcement(
            id=id, generation=asked.generation, queue=queue, task=task, targets=asked.targets, ending=ending,
            ended_at=ended_at, client=asked.client, correlation_id=asked.correlation_id, result=about or None,
            place=place,
        )  # fmt: skip
    return Announcement(
        id=id, generation=asked.generation, queue=queue, task=task, targets=asked.targets, ending=ending,
        ended_at=ended_at, client=asked.client, correlation_id=asked.correlation_id, place=place,
        reason=edited.read(_reason, about) if about and state == DEAD else None,
        large_result=about if type(about) is int else None,
    )  # fmt: skip


@lru_cache(maxsize=1_000)
def _read_asked(text: object) -> Asked | None:
    """Most of them ask for the same."""
    return edited.read(_asked, text)


def _place(text: str) -> _Place:
    """Of one that is not ours, the start: what was read before is read again, and nothing is left out."""
    parts = text.split("-")
    if len(parts) != len(_START) or not all(part.isascii() and part.isdecimal() for part in parts):
        return _START
    moment, is_row, number = map(int, parts)
    return _START if max(moment, number) > _HIGHEST else (moment, is_row, number)


def _before(place: _Place, is_row: int) -> tuple[int, int]:
    """What comes after this moment and number, in rows or in the table, comes after this place."""
    if is_row == place[1]:
        return place[0], place[2]
    return place[0], 0 if is_row > place[1] else _HIGHEST


@cache
def _set_asked(count: int) -> str:
    return (
        "UPDATE message SET announce = entry.column2"
        f" FROM (VALUES {placeholders(2, count)}) AS entry WHERE seq = entry.column1"
    )
