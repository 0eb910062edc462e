"""Small documents on Redis: a hash for each kind, a field for each name, changed by one script.

An expired one counts as absent, and is removed by the next `prune`. What is there and was not written by Tenure is
left out, and may be written over.
"""

import math
import re
from typing import Any

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import KEY_VALUE
from tenure.adapters.redis.store import RedisStore
from tenure.key_value import MOST_LISTED, KeyValue, new_version
from tenure.rules.storable import can_be_kept, check_key_value, is_kind, is_moment

#: Fields that one exchange reads, and documents that one script prunes.
_PIECE = 500
#: As `lua/key_value.lua` reads it.
_VERSION = re.compile(rb"[0-9a-f]+\Z")


class RedisKeyValues:
    """Small documents in Redis."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Return one document."""
        if not can_be_kept(kind, name):
            return None
        return self._read(kind, name, await self._store.command("HGET", self._key(kind), name))

    async def list(self, kind: str) -> list[KeyValue]:
        """Return all documents of a kind, sorted by name."""
        if not is_kind(kind):
            return []
        found: dict[str, KeyValue] = {}
        cursor = b"0"
        while len(found) < MOST_LISTED:
            cursor, pairs = await self._store.command("HSCAN", self._key(kind), cursor, "COUNT", _PIECE)
            for field, raw in zip(pairs[::2], pairs[1::2], strict=True):
                name = foreign_keys.text_of(field)  # one that is not text becomes a name that no caller asks for
                if name.encode() == field and (one := self._read(kind, name, raw)) is not None:
                    found[name] = one
            if int(cursor) == 0:
                break
        return [found[name] for name in sorted(found)[:MOST_LISTED]]

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Write if the document has this version."""
        check_key_value(kind, name, data, expires_at)
        if expect == "":  # says to the script that there must be none
            return None
        new = KeyValue(kind=kind, name=name, data=bytes(data), version=new_version(), expires_at=expires_at)
        ends = "" if expires_at is None else repr(float(expires_at))
        is_done = await self._run("put", kind, name, expect or "", new.version, ends, new.data)
        return new if is_done else None

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove a document, perhaps only in this version."""
        if not can_be_kept(kind, name) or expect == "":
            return False
        return bool(await self._run("remove", kind, name, expect or ""))

    async def prune(self) -> int:
        """Remove those whose time is over; how many. Some at a time."""
        count, looked_at = 0, _PIECE
        while looked_at == _PIECE:
            gone, looked_at = await self._run("prune", _PIECE)
            count += gone
        return count

    async def _run(self, word: str, *words: object) -> Any:
        call = self._store.call(KEY_VALUE, (), (word, repr(self._store.wall.now()), *words))
        (answer,) = await self._store.run_all([call], keeps=True)
        return answer

    def _key(self, kind: str) -> str:
        return f"{self._store.names.common}kv:{kind}"

    def _read(self, kind: str, name: str, raw: bytes | None) -> KeyValue | None:
        """Decode a document. None: it is missing, expired or foreign."""
        if raw is None:
            return None
        version, _, rest = raw.partition(b"|")
        ends, line, data = rest.partition(b"|")
        try:
            expires_at = float(ends) if ends else None
        except ValueError:
            expires_at = math.nan
        if not line or not _VERSION.match(version) or (expires_at is not None and not is_moment(expires_at)):
            foreign_keys.tell(f"key-values of kind {kind}", raw)
            return None
        found = KeyValue(kind=kind, name=name, data=data, version=version.decode(), expires_at=expires_at)
        return None if found.has_expired(self._store.wall.now()) else found
