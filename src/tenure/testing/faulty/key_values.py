"""Key-values that are written without comparing, outlive their time, or get lost."""

import asyncio

import msgspec

from tenure.errors import BadArgument
from tenure.key_value import KeyValue
from tenure.state import State
from tenure.testing.faulty.honest_state import HonestKeyValues
from tenure.testing.virtual import VirtualClock


class PutsWithoutComparing(HonestKeyValues):
    """Writes whatever the version is."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store over any version."""
        del expect
        known = await self.inner.get(kind, name)
        version = None if known is None else known.version
        return await self.inner.put(kind, name, data, expect=version, expires_at=expires_at)


class CreatesOverWhatIsThere(HonestKeyValues):
    """Compares versions, and takes no version for any."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store over any version if none is expected."""
        if expect is None and (known := await self.inner.get(kind, name)) is not None:
            expect = known.version
        return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)


class ComparesThenPuts(HonestKeyValues):
    """Compares and writes in two steps: of many at once, all win."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Compare, let others write, then store."""
        known = await self.inner.get(kind, name)
        if (None if known is None else known.version) != expect:
            return None
        await asyncio.sleep(0)
        while True:
            latest = await self.inner.get(kind, name)
            version = None if latest is None else latest.version
            put = await self.inner.put(kind, name, data, expect=version, expires_at=expires_at)
            if put is not None:
                return put


class VersionIsTheText(HonestKeyValues):
    """Takes the same text for the same version."""

    caught_by = ("KeyValues",)

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Return the document with its text as the version."""
        return _versioned(await self.inner.get(kind, name))

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Compare the text."""
        known = await self.inner.get(kind, name)
        if known is not None and expect == known.data.hex():
            expect = known.version
        return _versioned(await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at))


class ForgetsExpiry(HonestKeyValues):
    """Keeps for ever what was to expire."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store without an expiry."""
        del expires_at
        return await self.inner.put(kind, name, data, expect=expect)


class KeepsTheFirstExpiry(HonestKeyValues):
    """Lets a document expire when its first version was to."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store with the expiry of the first version."""
        known = await self.inner.get(kind, name)
        if known is not None:
            expires_at = known.expires_at
        return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)


class ExpiresByThisMachine(HonestKeyValues):
    """Judges what has expired by a clock that is not the store's: an hour behind."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store with an expiry one hour later."""
        later = None if expires_at is None else expires_at + 3600.0
        put = await self.inner.put(kind, name, data, expect=expect, expires_at=later)
        return None if put is None else msgspec.structs.replace(put, expires_at=expires_at)


class ListLeavesOut(HonestKeyValues):
    """Reads one page of a kind."""

    caught_by = ("KeyValues",)

    async def list(self, kind: str) -> list[KeyValue]:
        """Return only the first hundred."""
        return (await self.inner.list(kind))[:100]


class ListsByArrival(HonestKeyValues):
    """Lists a kind as it comes."""

    caught_by = ("KeyValues",)

    async def list(self, kind: str) -> list[KeyValue]:
        """Return the documents in reverse."""
        return (await self.inner.list(kind))[::-1]


class RemovesAnyVersion(HonestKeyValues):
    """Removes a document, whatever version was named."""

    caught_by = ("KeyValues",)

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove any version."""
        del expect
        return await self.inner.remove(kind, name)


class EverybodyRemoved(HonestKeyValues):
    """Tells each of many who remove a document that they did."""

    caught_by = ("KeyValues",)

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Answer every caller that it removed the document."""
        known = await self.inner.get(kind, name)
        await asyncio.sleep(0)
        await self.inner.remove(kind, name, expect=expect)
        return known is not None and expect in (None, known.version)


class MixesCases(HonestKeyValues):
    """Keeps names in small letters."""

    caught_by = ("KeyValues",)

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Read under the name in small letters."""
        return await self.inner.get(kind, name.lower())

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store under the name in small letters."""
        return await self.inner.put(kind, name.lower(), data, expect=expect, expires_at=expires_at)


class PrunesEverythingThatExpires(HonestKeyValues):
    """Removes what expires one day, today."""

    caught_by = ("KeyValues",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Remember what expires."""
        super().__init__(inner, clock)
        self._expiring: set[tuple[str, str]] = set()

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store, and remember documents that expire."""
        if expires_at is not None:
            self._expiring.add((kind, name))
        return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)

    async def prune(self) -> int:
        """Prune all documents that have an expiry."""
        await self.inner.prune()
        return sum([await self.inner.remove(kind, name) for kind, name in sorted(self._expiring)])


class RefusesAfterStoring(HonestKeyValues):
    """Cuts what is too long, keeps it, and raises."""

    caught_by = ("KeyValues",)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Store half of a document that is too long, then raise."""
        try:
            return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)
        except BadArgument:
            await self.inner.put("token", "cut", data[:100], expect=None)
            raise


def _versioned(known: KeyValue | None) -> KeyValue | None:
    return None if known is None else msgspec.structs.replace(known, version=known.data.hex())
