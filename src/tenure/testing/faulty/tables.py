"""Faulty on purpose: tables with one fault each. The suite `Tables` must catch every one of them.

A row that is changed by a writer that did not read it, or that comes back other than it was written, is a message run
twice or lost. Each fault wraps a table that works.
"""

from collections.abc import Sequence

import msgspec

from tenure.table import Row, RowKey, Table, Write


class HonestTable:
    """Passes everything on to a table that works."""

    def __init__(self, inner: Table) -> None:
        """Wrap `inner`."""
        self._inner = inner

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()

    def now(self) -> float:
        return self._inner.now()

    def wall(self) -> float:
        return self._inner.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        return await self._inner.get(places)

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write(batch)

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        return await self._inner.page(part, after=after, limit=limit, backwards=backwards)

    async def _current(self, one: Write) -> Write:
        """The same write, as if its writer had just read the row."""
        (row,) = await self._inner.get([one.place])
        return msgspec.structs.replace(one, expected=None if row is None else row.version)


class WritesOverWhatIsThere(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write([one if one.expected else await self._current(one) for one in batch])


class ComparesNothing(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write([await self._current(one) if one.expected else one for one in batch])


class RemovesWhateverTheVersion(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write(
            [msgspec.structs.replace(one, expected=None) if one.text is None else one for one in batch]
        )


class MakesWhatWasToBeChanged(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        rows = await self._inner.get([one.place for one in batch])
        return await self._inner.write(
            [
                msgspec.structs.replace(one, expected=None) if row is None else one
                for one, row in zip(batch, rows, strict=True)
            ]
        )


class AnswersAnOldVersion(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        done = await self._inner.write(batch)
        return [version and (one.expected or version) for one, version in zip(batch, done, strict=True)]


class AnswersForTheWholeBatch(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        done = await self._inner.write(batch)
        return [None] * len(done) if None in done else done


class WritesOnlyTheFirstHundred(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return [*await self._inner.write(batch[:100]), *("" for _ in batch[100:])]


class RefusesToRemoveAnyVersion(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        some = [one for one in batch if one.text is not None or one.expected is not None]
        done = iter(await self._inner.write(some))
        return [next(done) if one in some else None for one in batch]


class AnswersAPlaceOnce(HonestTable):
    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        rows, seen = await self._inner.get(places), set[RowKey]()
        answers = [None if place in seen else row for place, row in zip(places, rows, strict=True)]
        for number, place in enumerate(places):
            if place in seen:
                answers[number] = None
            seen.add(place)
        return answers


class MixesParts(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write(
            [msgspec.structs.replace(one, place=RowKey("p", one.place.sort)) for one in batch]
        )


class PagesFromTheStart(HonestTable):
    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:  # noqa: ARG002
        return await self._inner.page(part, limit=limit, backwards=backwards)


class PagesWithoutALimit(HonestTable):
    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        return await self._inner.page(part, after=after, limit=10 * limit, backwards=backwards)


class PagesForwardsOnly(HonestTable):
    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        rows = await self._inner.page(part, after=after, limit=limit, backwards=backwards)
        return sorted(rows, key=lambda row: row.place.sort)


class CutsLongTexts(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write(
            [msgspec.structs.replace(one, text=None if one.text is None else one.text[:65_536]) for one in batch]
        )


class DropsControlCharacters(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write(
            [
                msgspec.structs.replace(one, text=None if one.text is None else one.text.replace("\x00", ""))
                for one in batch
            ]
        )


class ForgetsAtOnce(HonestTable):
    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        done = await self._inner.write(batch)
        soon = [Write(one.place, None, None) for one in batch if one.forget_at is not None and one.forget_at > 0]
        await self._inner.write(soon)
        return done


class GoesBackInTime(HonestTable):
    _moment = 1e12

    def now(self) -> float:
        self._moment -= 1.0
        return self._moment


#: All of them.
TABLE_FAULTS: tuple[type[HonestTable], ...] = (
    WritesOverWhatIsThere,
    ComparesNothing,
    RemovesWhateverTheVersion,
    MakesWhatWasToBeChanged,
    AnswersAnOldVersion,
    AnswersForTheWholeBatch,
    WritesOnlyTheFirstHundred,
    RefusesToRemoveAnyVersion,
    AnswersAPlaceOnce,
    MixesParts,
    PagesFromTheStart,
    PagesWithoutALimit,
    PagesForwardsOnly,
    CutsLongTexts,
    DropsControlCharacters,
    ForgetsAtOnce,
    GoesBackInTime,
)
