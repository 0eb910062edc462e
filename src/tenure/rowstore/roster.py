"""The roster: which workers there are, and when each was last heard.

A word of presence costs a write, so only every fourth second's is written. It is a hint for people, and lets a worker
be taken off that is not there any more; it proves nothing. Who is dead is judged by `rules/presence.py`.

    roster      <owner>   a worker, from join until it is retired or removed
    banned#<owner>  b     it was declared dead: in parts of their own, so that a look reads only those who may be alive
"""

from collections.abc import Callable, Iterable

import msgspec

from tenure.owner import Member, Owner, retired
from tenure.rowstore.row_changes import ROSTER, Change, Kind, RowChanges
from tenure.rules.presence import joined_after
from tenure.table import Row, RowKey, Write

#: Words that follow one another faster are not written.
_BETWEEN_SECONDS = 3.5
_MANY = 100_000


class Listed(msgspec.Struct, gc=False, omit_defaults=True):
    """One boot of a worker, as its row says. Without `owner`: it never joined."""

    owner: Owner | None = None
    heard: float = 0.0
    has_left: bool = False
    #: 0: unknown.
    joined: float = 0.0
    #: "crashed" or "left": it was declared dead, and not all that it held may be returned yet.
    retiring: str = ""


LISTED = Kind(Listed)


class RowStoreRoster:
    """Presence in the table."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes
        self._said: dict[str, float] = {}
        self._known_banned: set[str] = set()

    async def join(self, owner: Owner) -> None:
        # Clocks of two machines differ a little: whoever joins a slot is later than those that are found there.
        others = await self.members() if owner.slot else []
        if not await self._put(owner, joined_after(others, owner, self._rows.now())):
            raise retired(owner.id)

    async def beat(self, owner: Owner) -> None:
        now = self._rows.clock.monotonic()
        if now - self._said.get(owner.id, float("-inf")) < _BETWEEN_SECONDS:
            return

        def decide(listed: Listed | None) -> Change[bool]:
            if listed is None:
                return Change(answer=False)
            if listed.has_left or listed.retiring:
                return Change(answer=True)
            listed.heard = max(listed.heard, self._rows.now())
            return Change(answer=True, to=listed)

        if await self._rows.change_one(LISTED, _place(owner.id), decide):
            self._said[owner.id] = now
        elif not await self.banned([owner.id]):
            await self._put(owner, 0.0)  # it was removed

    async def _put(self, owner: Owner, joined: float) -> bool:
        """False: it is banned."""

        def decide(_: Listed | None) -> Change[None]:
            return Change(None, Listed(owner=owner, heard=self._rows.now(), joined=joined))

        await self._rows.change_one(LISTED, _place(owner.id), decide)
        # Last: whoever bans writes the ban first, so one of the two sees the other.
        if await self.banned([owner.id]):
            await self._drop(owner.id)
            return False
        self._said[owner.id] = self._rows.clock.monotonic()
        return True

    async def leave(self, owner: Owner) -> None:
        def decide(listed: Listed | None) -> Change[None]:
            if listed is None or listed.has_left:
                return Change(None)
            listed.has_left = True
            return Change(None, listed)

        await self._rows.change_one(LISTED, _place(owner.id), decide)

    async def members(self) -> list[Member]:
        rows = await self._rows.table.page(ROSTER, limit=_MANY)
        now = self._rows.now()
        found = [_member(row, listed, now) for row in rows if (listed := LISTED.read(row)) is not None]
        return sorted(found, key=lambda member: (member.joined, member.owner.id))

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        (row,) = await self._rows.table.get([_place(owner)])
        listed = LISTED.read(row)
        if row is None or listed is None or listed.has_left or listed.retiring:
            return False
        if self._rows.now() - listed.heard < silent_seconds:
            return False
        # What each lease call lent stands under its owner (`lease_batches.py`).
        if await self._rows.table.page(f"o#{owner}", limit=1):
            return False
        (removed,) = await self._rows.table.write([Write(row.place, None, row.version)])
        return removed is not None

    # -- for the adapter's other parts ---------------------------------------------------------------

    async def known(self, owners: Iterable[str]) -> dict[str, Listed]:
        """What is known of several; those who never joined are missing."""
        names = sorted(owners)
        found = await self._read(names, _place)
        return found | await self._read([name for name in names if name not in found], _place_of_banned)

    async def _read(self, names: list[str], place: Callable[[str], RowKey]) -> dict[str, Listed]:
        found = await self._rows.get(LISTED, [place(name) for name in names])
        return {name: listed for name, listed in zip(names, found, strict=True) if listed is not None}

    async def banned(self, owners: Iterable[str]) -> frozenset[str]:
        """Which of these were retired. Asked anew each time: it may have happened a moment ago."""
        asked = set(owners)
        unknown = sorted(asked - self._known_banned)
        if unknown:
            self._known_banned.update(await self._read(unknown, _place_of_banned))
        return frozenset(asked & self._known_banned)

    async def ban(self, owner: str, how: str) -> bool:
        """Declare it dead: first that is written, then that its retirement is under way. False: it was before."""
        before = (await self._read([owner], _place)).get(owner, Listed())

        def ban(listed: Listed | None) -> Change[bool]:
            if listed is not None:
                return Change(answer=False)
            after = Listed(owner=before.owner, heard=before.heard)
            return Change(answer=True, to=after, forget_at=self._rows.kept_until())

        declared = await self._rows.change_one(LISTED, _place_of_banned(owner), ban)
        self._known_banned.add(owner)

        def mark(listed: Listed | None) -> Change[None]:
            if (listed is None and not declared) or (listed is not None and listed.retiring):
                return Change(None)
            listed = listed or Listed(heard=self._rows.now())
            listed.retiring = how
            return Change(None, listed)

        await self._rows.change_one(LISTED, _place(owner), mark)
        return declared

    async def finish(self, owner: str) -> None:
        """Nothing is left of what it held."""
        await self._drop(owner)

    async def _drop(self, owner: str) -> None:
        await self._rows.table.write([Write(_place(owner), None, None)])


def _member(row: Row, listed: Listed, now: float) -> Member:
    return Member(
        owner=listed.owner or Owner.of_id(row.place.sort),
        silent_seconds=max(0.0, now - listed.heard),
        joined=listed.joined,
        left=listed.has_left or listed.retiring == "left",
        is_retired=bool(listed.retiring),
    )


def _place(owner: str) -> RowKey:
    return RowKey(ROSTER, owner)


def _place_of_banned(owner: str) -> RowKey:
    return RowKey(f"banned#{owner}", "b")
