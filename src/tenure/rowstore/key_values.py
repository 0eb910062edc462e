"""Small documents: a row for each, in one part of the table; by kind, and of a kind by name.

A row whose time is over is no document. DynamoDB removes it by itself, within days; in other tables `prune` does.
"""

import contextlib

import msgspec

from tenure.errors import BrokerUnavailable
from tenure.key_value import MOST_LISTED, KeyValue, new_version
from tenure.rowstore.row_changes import NEVER, Change, Kind, RowChanges
from tenure.rules.storable import can_be_kept, check_key_value, is_kind
from tenure.table import Row, RowKey, Write

_PART = "kv"
#: Rows that one reading brings; each has up to 44 KB.
_PAGE = 100


class _Document(msgspec.Struct, omit_defaults=True):
    name: str
    version: str
    data: bytes
    expires_at: float | None = None


_DOCUMENT = Kind(_Document)


class RowStoreKeyValues:
    """Documents in the table."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes

    async def get(self, kind: str, name: str) -> KeyValue | None:
        if not can_be_kept(kind, name):
            return None
        (known,) = await self._rows.get(_DOCUMENT, [_place(kind, name)])
        return self._standing(kind, known)

    async def list(self, kind: str) -> list[KeyValue]:
        found: list[KeyValue] = []
        after, beginning = f"{kind} ", f"{kind} "
        while is_kind(kind) and len(found) < MOST_LISTED:
            rows = await self._rows.table.page(_PART, after=after, limit=_PAGE)
            ours = [row for row in rows if row.place.sort.startswith(beginning)]
            known = (self._standing(kind, _DOCUMENT.read(row)) for row in ours)
            found += [one for one in known if one is not None]
            if len(ours) < _PAGE:
                break
            after = ours[-1].place.sort
        return found[:MOST_LISTED]

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        check_key_value(kind, name, data, expires_at)
        new = KeyValue(kind=kind, name=name, data=bytes(data), version=new_version(), expires_at=expires_at)

        def decide(known: _Document | None) -> Change[KeyValue | None]:
            standing = self._standing(kind, known)
            if (None if standing is None else standing.version) != expect:
                return Change(None)
            document = _Document(name, new.version, new.data, expires_at)
            return Change(new, document, forget_at=NEVER if expires_at is None else expires_at)

        return await self._rows.change_one(_DOCUMENT, _place(kind, name), decide)

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        if not can_be_kept(kind, name):
            return False
        # Of many who delete a row at once DynamoDB tells each that they did. So it is first written that it has
        # expired, which only one can do; and that row may go at any time.
        place, over = _place(kind, name), _Document(name, new_version(), b"", 0.0)

        def decide(known: _Document | None) -> Change[bool]:
            standing = self._standing(kind, known)
            if standing is None or expect not in (None, standing.version):
                return Change(answer=False)
            return Change(answer=True, to=over, forget_at=self._rows.table.wall())

        if not await self._rows.change_one(_DOCUMENT, place, decide):
            return False
        with contextlib.suppress(BrokerUnavailable):
            await self._rows.remove(place, msgspec.json.encode(over).decode())
        return True

    async def prune(self) -> int:
        """Remove those whose time is over, unless the table does."""
        if self._rows.table_forgets:
            return 0
        gone, after = 0, ""
        while True:
            rows = await self._rows.table.page(_PART, after=after, limit=_PAGE)
            old = [row for row in rows if self._is_over(row)]
            # Each as it was read: somebody may have just written it anew.
            done = await self._rows.table.write([Write(row.place, None, row.version) for row in old]) if old else []
            gone += len(done) - done.count(None)
            if len(rows) < _PAGE:
                return gone
            after = rows[-1].place.sort

    def _is_over(self, row: Row) -> bool:
        return self._standing("", _DOCUMENT.read(row)) is None

    def _standing(self, kind: str, known: _Document | None) -> KeyValue | None:
        """None: it is not there, or its time is over."""
        if known is None:
            return None
        found = KeyValue(
            kind=kind, name=known.name, data=known.data, version=known.version, expires_at=known.expires_at
        )
        return None if found.has_expired(self._rows.table.wall()) else found


def _place(kind: str, name: str) -> RowKey:
    # No kind has a blank in it, so those of a kind lie together.
    return RowKey(_PART, f"{kind} {name}")
