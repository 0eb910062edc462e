"""The audit log: what people and programs did from outside, a row for each act.

Kept apart from the journal and for longer. Places rise for ever: a pruned number is not used again.
"""

from collections.abc import Sequence

import msgspec

from tenure.act import Act, StoredAct
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction

#: Acts that one step of `prune` looks at.
_AT_ONCE = 1_000
_PRUNE = f"DELETE FROM act WHERE seq IN (SELECT seq FROM act ORDER BY seq LIMIT {_AT_ONCE}) AND at < ?"
#: For `before=0`: behind every place.
_BEHIND_ALL = 1 << 62

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Act).decode


class SqliteActLog:
    """The audit log in SQLite."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def record(self, acts: Sequence[Act]) -> None:
        """Keep acts, in this order."""
        if acts:
            rows = [(act.at, _encode(act)) for act in acts]
            await self._store.write(lambda tx: _record(tx, rows))

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The newest acts before place `before`, newest first."""
        return await self._store.look(lambda view: _read(view, before or _BEHIND_ALL, limit))

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old acts, from the oldest on; how many. In steps: others write in between."""
        gone = 0
        while True:
            step = await self._store.write(lambda tx: _prune(tx, tx.wall - older_than_seconds), is_light=True)
            gone += step
            if step < _AT_ONCE:
                return gone


def _record(tx: WriteTransaction, rows: Sequence[tuple[float, bytes]]) -> None:
    tx.db.executemany("INSERT INTO act (at, act) VALUES (?, ?)", rows)


def _read(view: ReadView, before: int, limit: int) -> list[StoredAct]:
    rows = view.db.execute("SELECT seq, act FROM act WHERE seq < ? ORDER BY seq DESC LIMIT ?", (before, limit))
    return [StoredAct(seq, _decode(raw)) for seq, raw in rows.fetchall()]


def _prune(tx: WriteTransaction, horizon: float) -> int:
    return tx.db.execute(_PRUNE, (horizon,)).rowcount
