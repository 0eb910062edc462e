"""The members of one group that have ended: a set by place, kept as a chain of bounded documents.

    0: full ──► 1: full ──► 2: has room            each written only by a writer that read it (compare-and-set)

An entry is never changed or removed, and a member has one: the first ending counts, a repeat changes nothing. The last
document says how the group ended, in the same write as the last entry; nothing is added after that. A document is
marked as full in a write of its own chain, before the next one is made, so two writers at once can never fork it.

Read by all who show a group; written by `group_kind.py`, by `keeper.py`, and by a cancel.
"""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from tenure.group import GroupState, MemberState
from tenure.key_value import MOST_BYTES, name_of
from tenure.state import State
from tenure.verdict import Reason

KIND = "group-ended"
#: Bytes of entries in one document: the rest is for what is around them.
ROOM = MOST_BYTES - 1024
#: So many documents are read at once.
_AT_ONCE = 8
_TRIES = 8
#: The states in the order in which they are counted.
_COUNTED = (MemberState.COMPLETED, MemberState.DEAD, MemberState.CANCELLED)


class Entry(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One member that has ended."""

    #: Its place among the calls, from 0.
    place: int
    state: MemberState
    #: JSON. Null: it returned nothing, is not completed, or its result is too large.
    result: msgspec.Raw = msgspec.Raw(b"null")
    #: Bytes of a result that is not.
    large_result: int | None = None
    reason: Reason | None = None


class Counts(msgspec.Struct, frozen=True, array_like=True):
    """How many ended how."""

    completed: int = 0
    dead: int = 0
    cancelled: int = 0

    def plus(self, entries: Sequence[Entry]) -> "Counts":
        """With these too."""
        have = [self.completed, self.dead, self.cancelled]
        for one in entries:
            have[_COUNTED.index(one.state)] += 1
        return Counts(*have)

    @property
    def total(self) -> int:
        """All of them."""
        return self.completed + self.dead + self.cancelled


class Ended(msgspec.Struct, frozen=True):
    """How far a group is."""

    counts: Counts = Counts()
    #: None: it has not ended.
    end: GroupState | None = None
    at: float | None = None


class _Document(msgspec.Struct, omit_defaults=True):
    #: In the documents before.
    before: Counts = Counts()
    entries: list[msgspec.Raw] = []
    #: Another one follows, or may.
    full: bool = False
    end: GroupState | None = None
    at: float | None = None

    def read(self) -> list[Entry]:
        return [msgspec.json.decode(one, type=Entry) for one in self.entries]


class Contended(Exception):
    """Other writers were faster, again and again. Nothing of ours was written; begin anew."""


class EndedLog:
    """The chain of one group, as one process knows it."""

    def __init__(self, state: State, group: str, total: int, *, kept_until: float) -> None:
        """Read nothing before it is asked for. `kept_until`: wall time until which the documents are kept."""
        self._values = state.key_values
        self._state = state
        self._group = group
        self._total = total
        self._kept_until = kept_until
        self._known: set[int] | None = None
        #: The last document: its number, content, bytes of entries, and version (None: it is not there yet).
        self._number, self._last, self._bytes = 0, _Document(), 0
        self._version: str | None = None

    # -- reading -----------------------------------------------------------------------------------

    async def read(self) -> Ended:
        """How far the group is, by its last document alone: about twice the logarithm of their number in reads."""
        if self._known is not None and self._last.end is not None:
            return self._ended(self._last)
        first = await self._get(0)
        if first is None or not first.full:
            return self._ended(first or _Document())
        low, step = (0, first), 1
        high: int | None = None  # a document that is not full, or is not there
        last: _Document | None = None
        while high is None or high - low[0] > 1:
            number = low[0] + step if high is None else (low[0] + high) // 2
            found = await self._get(number)
            if found is not None and found.full:
                low, step = (number, found), step * 2
            else:
                high, last = number, found
        return self._ended(last or _Document(before=low[1].before.plus(low[1].read())))

    async def entries(self) -> list[Entry]:
        """Every member that has ended, by place."""
        documents = await self._documents()
        found = {one.place: one for document, _ in reversed(documents) for one in reversed(document.read())}
        return [found[place] for place in sorted(found)]

    async def missing(self) -> list[int]:
        """The places of those that have not ended."""
        known = await self._load()
        return [place for place in range(self._total) if place not in known]

    def _ended(self, last: _Document) -> Ended:
        return Ended(last.before.plus(last.read()), last.end, last.at)

    # -- writing -----------------------------------------------------------------------------------

    async def add(self, entries: Sequence[Entry]) -> Ended:
        """Add those that are not there yet; with the last of them the group is complete. Raises `Contended`."""
        for _ in range(_TRIES):
            known = await self._load()
            new: dict[int, Entry] = {}
            for one in entries:
                if 0 <= one.place < self._total and one.place not in known:
                    new.setdefault(one.place, one)
            if self._last.end is not None or not new or await self._write(list(new.values())):
                return self._ended(self._last)
            self.forget()
        raise Contended(self._group)

    async def close(self, end: GroupState) -> Ended:
        """End the group, if it has not ended: nothing is added from now on. Raises `Contended`."""
        for _ in range(_TRIES):
            await self._load()
            if self._last.end is not None or await self._write((), end):
                return self._ended(self._last)
            self.forget()
        raise Contended(self._group)

    def forget(self) -> None:
        """Read again the next time."""
        self._known = None

    async def _write(self, entries: Sequence[Entry], end: GroupState | None = None) -> bool:
        """Write these, in as many documents as they need. False: another writer was faster."""
        known = await self._load()
        try:
            left = [(one, msgspec.Raw(msgspec.json.encode(one))) for one in entries]
            is_complete = len(known) + len(left) == self._total and bool(left)
            while True:
                # An entry has room in an empty document, whatever it holds: its parts are bounded.
                fit = max(_fitting([len(raw) for _, raw in left], ROOM - self._bytes), self._bytes == 0)
                now, left = left[:fit], left[fit:]
                is_last = not left
                over = end or (GroupState.COMPLETE if is_complete else None)
                if not await self._put(now, is_last=is_last, end=over if is_last else None):
                    return False
                known.update(one.place for one, _ in now)
                if is_last:
                    return True
        except BaseException:
            self.forget()  # it may have been written
            raise

    async def _put(
        self, now: Sequence[tuple[Entry, msgspec.Raw]], *, is_last: bool, end: GroupState | None
    ) -> bool:  # fmt: skip
        document = _Document(
            self._last.before, [*self._last.entries, *(raw for _, raw in now)], full=not is_last, end=end,
            at=None if end is None else self._state.wall(),
        )  # fmt: skip
        data, name = msgspec.json.encode(document), self._name(self._number)
        value = await self._values.put(KIND, name, data, expect=self._version, expires_at=self._kept_until)
        if value is None:
            return False
        self._version, self._last = value.version, document
        self._bytes += sum(len(raw) + 1 for _, raw in now)
        if document.full:
            self._begin_next(document)
        return True

    def _begin_next(self, document: _Document) -> None:
        self._number, self._version, self._bytes = self._number + 1, None, 0
        self._last = _Document(before=document.before.plus(document.read()))

    # -- the documents -----------------------------------------------------------------------------

    async def _load(self) -> set[int]:
        if self._known is None:
            documents = await self._documents()
            self._known = {one.place for document, _ in documents for one in document.read()}
            self._number, self._last, self._bytes, self._version = 0, _Document(), 0, None
            if documents:
                self._number = len(documents) - 1
                self._last, self._version = documents[-1]
                self._bytes = sum(len(raw) + 1 for raw in self._last.entries)
                if self._last.full:
                    self._begin_next(self._last)
        return self._known

    async def _documents(self) -> list[tuple[_Document, str]]:
        found: list[tuple[_Document, str]] = []
        for first, many in _windows():
            names = [self._name(number) for number in range(first, first + many)]
            values = await asyncio.gather(*(self._values.get(KIND, name) for name in names))
            for value in values:
                if value is None:
                    return found
                document = msgspec.json.decode(value.data, type=_Document)
                found.append((document, value.version))
                if not document.full:
                    return found
        return found

    async def _get(self, number: int) -> _Document | None:
        value = await self._values.get(KIND, self._name(number))
        return None if value is None else msgspec.json.decode(value.data, type=_Document)

    def _name(self, number: int) -> str:
        return document_name(self._group, number)

    async def remove(self) -> int:
        """Remove every document; how many."""
        many = len(await self._documents())
        for number in range(many):
            await self._values.remove(KIND, self._name(number))
        self.forget()
        return many


def document_name(group: str, number: int) -> str:
    """Under which name a document of a group is kept."""
    return name_of(f"{group}.{number}")


def _windows() -> Iterator[tuple[int, int]]:
    """Which documents to read at once: nearly every group has one."""
    yield 0, 1
    first = 1
    while True:
        yield first, _AT_ONCE
        first += _AT_ONCE


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many of the first ones have room together."""
    used = 0
    for count, size in enumerate(sizes):
        used += size + 1
        if used > room:
            return count
    return len(sizes)
