"""Small documents in the file, a row for each, changed by compare-and-set.

An expired row counts as absent. The next one of its name replaces it, or `prune` removes it.
"""

import sqlite3

from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.key_value import MOST_LISTED, KeyValue, new_version
from tenure.rules.storable import can_be_kept, check_key_value, is_kind

#: Rows that one step of `prune` removes.
_AT_ONCE = 1_000
_COLUMNS = "SELECT kind, name, data, version, expires_at FROM key_value"
_STANDS = "(expires_at IS NULL OR expires_at > ?)"
_GET = f"{_COLUMNS} WHERE kind = ? AND name = ? AND {_STANDS}"
_LIST = f"{_COLUMNS} WHERE kind = ? AND {_STANDS} ORDER BY name LIMIT {MOST_LISTED}"
_PUT = "INSERT OR REPLACE INTO key_value (kind, name, data, version, expires_at) VALUES (?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM key_value WHERE kind = ? AND name = ?"
_PRUNE = f"""
DELETE FROM key_value WHERE rowid IN (SELECT rowid FROM key_value WHERE expires_at <= ? LIMIT {_AT_ONCE})
"""

_Columns = tuple[str, str, bytes, str, float | None]


class SqliteKeyValues:
    """Small documents in SQLite."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Return one document."""
        if not can_be_kept(kind, name):
            return None
        return await self._store.read(lambda view: _get(view, kind, name))

    async def list(self, kind: str) -> list[KeyValue]:
        """Return all documents of a kind, sorted by name."""
        if not is_kind(kind):
            return []
        return await self._store.look(lambda view: _list(view, kind))

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Write if the document has this version."""
        check_key_value(kind, name, data, expires_at)
        new = KeyValue(kind=kind, name=name, data=bytes(data), version=new_version(), expires_at=expires_at)
        return await self._store.write(lambda tx: _put(tx, new, expect))

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove a document, perhaps only in this version."""
        if not can_be_kept(kind, name):
            return False
        return await self._store.write(lambda tx: _remove(tx, kind, name, expect))

    async def prune(self) -> int:
        """Remove those whose time is over; how many. In steps: others write in between."""
        gone = 0
        while True:
            step = await self._store.write(_prune, is_light=True)
            gone += step
            if step < _AT_ONCE:
                return gone


def _get(view: ReadView, kind: str, name: str) -> KeyValue | None:
    row = view.db.execute(_GET, (kind, name, view.wall)).fetchone()
    return None if row is None else _read(row)


def _list(view: ReadView, kind: str) -> list[KeyValue]:
    return [_read(row) for row in view.db.execute(_LIST, (kind, view.wall)).fetchall()]


def _put(tx: WriteTransaction, new: KeyValue, expect: str | None) -> KeyValue | None:
    known = _get(tx, new.kind, new.name)
    if (None if known is None else known.version) != expect:
        return None
    tx.db.execute(_PUT, (new.kind, new.name, sqlite3.Binary(new.data), new.version, new.expires_at))
    return new


def _remove(tx: WriteTransaction, kind: str, name: str, expect: str | None) -> bool:
    known = _get(tx, kind, name)
    if known is None or expect not in (None, known.version):
        return False
    return tx.db.execute(_REMOVE, (kind, name)).rowcount > 0


def _prune(tx: WriteTransaction) -> int:
    return tx.db.execute(_PRUNE, (tx.wall,)).rowcount


def _read(row: _Columns) -> KeyValue:
    kind, name, data, version, expires_at = row
    return KeyValue(kind=kind, name=name, data=bytes(data), version=version, expires_at=expires_at)
