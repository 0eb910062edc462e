"""Cancelling: messages are removed for good. Delete removes messages that are not leased; cancel also running ones.

Both are one update in place. What was leased loses its lease and its claim in the same step, so that nothing
its holder says later has an effect, and is named on the board (`board.py`), so that its holder asks.

Run by `writer.py` for `broker.py`. What is cancelled is forgotten by `retention.py`.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.sqlite import announcing, message_notes
from tenure.adapters.sqlite.claim_release import free_keys
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import CANCELLED, DEAD, DELAYED, LEASED, NOTED, READY, STATES
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.message import MessageState
from tenure.notice import newest_cancels
from tenure.record import Ending
from tenure.rules.announcing import ENDS_BY_DELETE

_THESE = "WHERE message.id IN (SELECT value FROM json_each(?))"
_UNHELD = f"SELECT id, seq, state, extras, NULL FROM message {_THESE} AND state IN ({READY}, {DELAYED}, {DEAD})"
# Done is done: one that is sealed, and only not yet acked, is left to its holder. Of a redriven one an earlier
# generation may be done, and the claim on this one is open.
_UNFINISHED = f"""
SELECT message.id, seq, state, extras, iif(state = {LEASED}, owner, NULL)
FROM message LEFT JOIN loan USING (fence) {_THESE}
AND (state IN ({READY}, {DELAYED})
     OR state = {LEASED} AND coalesce((SELECT min(claim.state = 'done') FROM claim WHERE claim.id = message.id), 0) = 0)
"""
_CANCEL = f"""
UPDATE message SET state = {CANCELLED}, envelope = NULL, moment = ?, finished_at = ?, extras = extras | {NOTED}
WHERE seq IN (SELECT value FROM json_each(?))
"""

#: Id, row, state, extras, and who holds it.
Found = tuple[str, int, int, int, str | None]


def delete(tx: WriteTransaction, ids: Sequence[str]) -> list[str]:
    """Remove what is ready, delayed or dead. The ids that were removed, each once."""
    met = _take_out(tx, tx.db.execute(_UNHELD, (listed(ids),)).fetchall())
    return [id for id in dict.fromkeys(ids) if id in met]


def cancel(tx: WriteTransaction, ids: Sequence[str]) -> list[MessageState | None]:
    """Take out what is ready, delayed or leased. In which state each was; an id said again is gone already."""
    met = _take_out(tx, tx.db.execute(_UNFINISHED, (listed(ids),)).fetchall())
    leased = [id for id, state in met.items() if state is MessageState.LEASED]
    if leased:
        _name_on_board(tx, leased)
    return [met.pop(id, None) for id in ids]


def read_cancelled(text: str | None) -> tuple[str, ...]:
    """The ids on the board; none in a file of an older version."""
    return () if text is None else tuple(msgspec.json.decode(text, type=list[str]))


def _name_on_board(tx: WriteTransaction, ids: list[str]) -> None:
    tx.db.execute("UPDATE meta SET value = value + ? WHERE name = 'cancels'", (len(ids),))
    row = tx.db.execute("SELECT value FROM meta WHERE name = 'cancelled'").fetchone()
    kept = newest_cancels(read_cancelled(None if row is None else row[0]), ids)
    tx.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('cancelled', ?)", (listed(kept),))


def _take_out(tx: WriteTransaction, found: Sequence[Found]) -> dict[str, MessageState]:
    """Cancelled from now on, all of them. The state of each until now, by id."""
    announcing.set_apart(tx, [seq for _, seq, state, *_ in found if STATES[state] not in ENDS_BY_DELETE])
    tx.db.execute(_CANCEL, (tx.now, tx.wall, listed([seq for _, seq, *_ in found])))
    message_notes.tidy(tx, [seq for _, seq, _, extras, _ in found if extras & NOTED])
    message_notes.remember(tx, [(seq, (Ending(tx.wall, "cancelled", owner),)) for _, seq, _, _, owner in found])
    # Also those without a key: the holder of a message may have claimed it.
    free_keys(tx, [id for id, *_ in found])
    return {id: STATES[state] for id, _, state, *_ in found}
