"""Key-values whose faults lose members of groups: only what stands on several documents shows them."""

import asyncio

import msgspec

from tenure.groups.ended_log import KIND
from tenure.key_value import KeyValue, new_version
from tenure.testing.faulty.honest_state import HonestKeyValues


class WritesMembersOverEachOther(HonestKeyValues):
    """Of writers at once all are told that they were first, and the last one's document stays."""

    caught_by = ("Grouping",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store the ends of members over any version, after others had their turn."""
        if kind != KIND:
            return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)
        await asyncio.sleep(0)
        known = await self.inner.get(kind, name)
        version = None if known is None else known.version
        return await self.inner.put(kind, name, data, expect=version, expires_at=expires_at)


class KeepsOneDocumentOfAGroup(HonestKeyValues):
    """Says that it has written the second document of a group, and has not."""

    caught_by = ("Grouping",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store the first ones."""
        if kind == KIND and not name.endswith(".0"):
            return KeyValue(kind=kind, name=name, data=data, version=new_version(), expires_at=expires_at)
        return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)


class ReadsAnOlderDocument(HonestKeyValues):
    """Reads the ends of members as they were at first."""

    caught_by = ("Grouping",)

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Answer with what was read first."""
        found = await self.inner.get(kind, name)
        if kind != KIND or found is None:
            return found
        first = self._first.setdefault(name, found)
        return msgspec.structs.replace(found, data=first.data)

    @property
    def _first(self) -> dict[str, KeyValue]:
        kept: dict[str, KeyValue] = self.__dict__.setdefault("kept", {})
        return kept
