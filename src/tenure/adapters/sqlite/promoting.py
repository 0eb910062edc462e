"""Promoting: delayed messages become ready before their time.

Run by `writer.py` for `broker.py`. What is promoted is lent by `lending.py` as if it had fallen due.
"""

from collections.abc import Sequence

from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED, DELAYED, READY, STATES
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.broker import Promoted
from tenure.rules.promoted import met_in_turn

_UNFINISHED = f"""
SELECT id, seq, queue, state FROM message
WHERE id IN (SELECT value FROM json_each(?)) AND state NOT IN ({COMPLETED}, {CANCELLED})
"""
_PROMOTE = f"UPDATE message SET state = {READY}, moment = ? WHERE seq IN (SELECT value FROM json_each(?))"


def promote(tx: WriteTransaction, ids: Sequence[str]) -> list[Promoted]:
    """Make these ready if they are delayed. In which state each was; an id said again is ready by then."""
    rows = tx.db.execute(_UNFINISHED, (listed(ids),)).fetchall()
    delayed = [(seq, queue) for _, seq, queue, state in rows if state == DELAYED]
    if delayed:
        tx.db.execute(_PROMOTE, (tx.now, listed([seq for seq, _ in delayed])))
        tx.stirred.update(queue for _, queue in delayed)
    met = {id: STATES[state] for id, _, _, state in rows}
    return [*map(Promoted, met_in_turn(ids, met))]
