"""Small documents: a row for each.

kv   d:<kind>:<name>   a document; a name that is no plain key is written as its digest (`naming.py`)

A row whose time is over is no document. It is replaced by the next one of its name, or removed by `prune`.
"""

from typing import Any

from tenure.adapters.azure import retention
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import LT
from tenure.key_value import MOST_LISTED, KeyValue, new_version
from tenure.rules.storable import can_be_kept, check_key_value, is_kind

_PART = "kv"


class AzureKeyValues:
    """Documents in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """One document."""
        if not can_be_kept(kind, name):
            return None
        return self._standing(kind, await self._store.rows.get(_PART, _key(kind, name)))

    async def list(self, kind: str) -> list[KeyValue]:
        """All of a kind, by name."""
        found: list[KeyValue] = []
        if not is_kind(kind):
            return found
        async for row in self._store.rows.between(_PART, f"d:{kind}:", f"d:{kind};"):
            if (one := self._standing(kind, row)) is not None:
                found.append(one)
                if len(found) == MOST_LISTED:
                    break
        return sorted(found, key=lambda one: one.name)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Write if the document has this version."""
        check_key_value(kind, name, data, expires_at)
        new = KeyValue(kind=kind, name=name, data=bytes(data), version=new_version(), expires_at=expires_at)
        key = _key(kind, name)
        fields: dict[str, Any] = {"Name": name, "Version": new.version, "Data": new.data}
        if expires_at is not None:
            fields["ExpiresAt"] = float(expires_at)
        while True:
            row = await self._store.rows.get(_PART, key)
            standing = self._standing(kind, row)
            if (None if standing is None else standing.version) != expect:
                return None
            change = Row(_PART, key, fields, "" if row is None else row.etag)
            if await self._store.rows.commit_one(Change("insert" if row is None else "replace", change)) is not None:
                return new

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove a document, perhaps only in this version."""
        while can_be_kept(kind, name):
            row = await self._store.rows.get(_PART, _key(kind, name))
            standing = self._standing(kind, row)
            if row is None or standing is None or expect not in (None, standing.version):
                return False
            if await self._store.rows.commit_one(Change("delete", row)) is not None:
                return True
        return False

    async def prune(self) -> int:
        """Remove those whose time is over; how many."""
        old = LT("ExpiresAt", self._store.wall())
        return await retention.drop(self._store, self._store.rows.between(_PART, "d:", "d;", old))

    def _standing(self, kind: str, row: Row | None) -> KeyValue | None:
        """None: it is not there, or its time is over."""
        if row is None:
            return None
        fields = row.fields
        found = KeyValue(
            kind=kind,
            name=fields["Name"],
            data=fields["Data"],
            version=fields["Version"],
            expires_at=fields.get("ExpiresAt"),
        )
        return None if found.has_expired(self._store.wall()) else found


def _key(kind: str, name: str) -> str:
    return f"d:{kind}:{row_id(name)}"
