"""Tallies in the table: what processes counted, one row each, by step and time.

    y<step>   <bucket>:<nonce>:<number>   a row, replaced as a whole

A batch of up to 100 rows of one step is one request; an hour of one step is read by its range of keys. Used by
`journal.py`.
"""

import math
from collections.abc import Sequence

from tenure.adapters.azure import retention
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import Store
from tenure.tally import HOUR, KEPT_SECONDS, Tally

#: The last moment that a key has digits for.
_LATEST = 10**12 - 1


async def keep(store: Store, batch: Sequence[Tally]) -> None:
    """Keep rows, each instead of one with the same name."""
    newest = {(one.step, one.bucket, one.nonce, one.number): one for one in batch}
    await store.rows.commit([[Change("upsert", _row(one))] for one in newest.values()])


async def read(store: Store, step: int, since: float, until: float) -> list[Tally]:
    """Rows of one step from `since` to before `until`, in the order of bucket, nonce and number."""
    found = [
        Tally(step, int(row.fields["Bucket"]), row.fields["Nonce"], int(row.fields["Number"]), row.fields["Data"])
        async for row in store.rows.between(_part(step), _low(since), _low(until))
    ]
    return sorted(
        (one for one in found if since <= one.bucket < until), key=lambda one: (one.bucket, one.nonce, one.number)
    )


async def prune(store: Store, older_than_seconds: float) -> int:
    """Forget what is kept no longer; hours as long as events."""
    now, gone = store.wall(), 0
    for step, seconds in {**KEPT_SECONDS, HOUR: older_than_seconds}.items():
        gone += await retention.drop(store, store.rows.between(_part(step), _low(0), _low(now - seconds)))
    return gone


def _row(one: Tally) -> Row:
    key = f"{_low(one.bucket)}:{row_id(one.nonce) if one.nonce else '-'}:{one.number:010d}"
    fields = {"Bucket": one.bucket, "Nonce": one.nonce, "Number": one.number, "Data": one.data}
    return Row(_part(one.step), key, fields)


def _part(step: int) -> str:
    return f"y{step}"


def _low(moment: float) -> str:
    """Keys from this moment on. A bucket begins at a whole second."""
    return f"e:{min(max(0, math.ceil(moment)), _LATEST):012d}"
