"""Claims that come with a lease and are sealed with its ack.

A message with a key was given its row in `claim` when it was sent. Where that row is free, the lease claims it in the
same step, under the fence of the loan, and the ack seals it. So the ledger is asked neither before the run nor after
it. Where the row is not free (the key is done, or runs elsewhere) the lease comes without a claim, and the ledger
answers (`ledger.py`). A claim is found by its message here: that is the shorter text, and a row has one message.

Used by `lending.py` and `settling.py`.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.settlement import Ack

_CLAIM = """
UPDATE claim SET state = 'running', owner = ?, fence = ?, moment = ?
WHERE state = 'sent' AND id IN (SELECT value FROM json_each(?))
"""
_CLAIMED = """
SELECT json_group_array(id) FROM claim INDEXED BY claim_running WHERE state = 'running' AND owner = ? AND fence = ?
"""
_UNDER = "state = 'running' AND owner = ?3 AND fence = ?4"
_SEAL = f"""
UPDATE claim SET state = 'done', moment = ?1, result = ?2 WHERE {_UNDER} AND id IN (SELECT value FROM json_each(?5))
"""
_STATES = """
SELECT json_group_array(json_array(entry.key, state)) FROM json_each(?) AS entry CROSS JOIN claim
ON claim.id = json_extract(entry.value, '$[0]') AND owner = json_extract(entry.value, '$[1]')
    AND fence = json_extract(entry.value, '$[2]')
"""

_ids = msgspec.json.Decoder(list[str])
_states = msgspec.json.Decoder(list[tuple[int, str]])


def claim(tx: WriteTransaction, ids: Sequence[str], owner: str, fence: int, until: int) -> frozenset[str]:
    """Claim the keys of messages that are being leased, as far as they are free. The ids whose keys were claimed."""
    count = tx.db.execute(_CLAIM, (owner, fence, until, listed(ids))).rowcount
    if count == len(ids):
        return frozenset(ids)
    return frozenset(_ids.decode(tx.db.execute(_CLAIMED, (owner, fence)).fetchone()[0]) if count else ())


def seal(
    tx: WriteTransaction, owner: str, fence: int, ids: str, count: int, result: bytes | None, acks: Sequence[Ack]
) -> bool:
    """Seal the claims of one owner under one fence. False: not all of them matched, and some may have been changed.

    `ids` are listed, `count` is how many. `result`: what all of them have. None: as `acks` say.
    """
    if result is not None:
        return tx.db.execute(_SEAL, (tx.now, result, owner, fence, ids)).rowcount == count
    sealed = 0
    for piece in pieces([ack for ack in acks if ack.claim is not None and ack.claim.fence == fence]):
        values = [value for ack in piece for value in (ack.lease.id, ack.result)]
        sealed += tx.db.execute(_seal_each(len(piece)), [tx.now, *values, owner, fence]).rowcount
    return sealed == count


def states(tx: WriteTransaction, acks: Sequence[Ack]) -> dict[int, str]:
    """By place: the state of the claim that an ack names, `running` or `done`. Not there: the claim is lost."""
    tokens = [None if ack.claim is None else (ack.lease.id, ack.claim.owner, ack.claim.fence) for ack in acks]
    return dict(_states.decode(tx.db.execute(_STATES, (listed(tokens),)).fetchone()[0]))


@cache
def _seal_each(count: int) -> str:
    return (
        "UPDATE claim SET state = 'done', moment = ?, result = entry.column2"
        f" FROM (VALUES {placeholders(2, count)}) AS entry"
        " WHERE id = entry.column1 AND owner = ? AND fence = ? AND state = 'running'"
    )
