"""The roster: which workers there are, and when each was last heard.

A worker says every five seconds that it is there. That is a hint for people, and lets a worker be taken off that is not
there any more; it proves nothing. Who is dead is judged by `rules/presence.py`.

    common  o:<owner>   a worker, from join until it is retired or removed
            b:<owner>   it was declared dead; kept as long as what is done, and for a day at least (`retention.py`)
"""

from typing import Any

import msgspec

from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ
from tenure.owner import Member, Owner
from tenure.rules.presence import joined_after

#: How often a worker says that it is there.
_WORD_SECONDS = 5.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Owner).decode


async def is_banned(store: Store, owner: str) -> bool:
    """Whether an owner was retired."""
    return await store.rows.get(COMMON, f"b:{row_id(owner)}") is not None


class AzureRoster:
    """Presence in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        #: When each owner of ours last said that it is there.
        self._said: dict[str, float] = {}

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster. One that was retired stays off it; its next `lease` says so."""
        # Clocks of two machines differ a little: whoever joins a slot is later than those that are found there.
        others = await self.members() if owner.slot else []
        await self._put(owner, joined_after(others, owner, self._store.timeline.now()))

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there; every few seconds is enough. If it was removed, it is put back."""
        now = self._store.timeline.now()
        if now - self._said.get(owner.id, -_WORD_SECONDS) < _WORD_SECONDS - 1.0:
            return
        if await self._store.rows.commit_one(Change("merge", _row(owner.id, {"Heard": now}))) is None:
            await self._put(owner, 0.0)
        self._said[owner.id] = now

    async def _put(self, owner: Owner, joined: float) -> None:
        if await is_banned(self._store, owner.id):
            return
        now = self._store.timeline.now()
        row = _row(owner.id, {"Id": owner.id, "Owner": _encode(owner), "Heard": now, "Joined": joined})
        await self._store.rows.commit_one(Change("upsert", row))
        self._said[owner.id] = now
        # Last: whoever bans writes the ban first, so one of the two sees the other.
        if await is_banned(self._store, owner.id):
            await finish(self._store, owner.id)

    async def leave(self, owner: Owner) -> None:
        """Goodbye: it is listed as one that left, until it is retired."""
        await self._store.rows.commit_one(Change("merge", _row(owner.id, {"Left": True})))

    async def members(self) -> list[Member]:
        """Everybody on the roster, and those whose retirement is not finished."""
        rows, now = await self._store.rows.scan(COMMON, "o:"), self._store.timeline.now()
        return sorted((_member(row, now) for row in rows), key=lambda member: (member.joined, member.owner.id))

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """If it says something meanwhile, its row is another version, and stays."""
        store = self._store
        row = await store.rows.get(COMMON, f"o:{row_id(owner)}")
        if row is None or row.fields.get("Left") or row.fields.get("Retiring"):
            return False
        if store.timeline.now() - float(row.fields["Heard"]) < silent_seconds:
            return False
        if await store.lives(EQ("Owner", owner) & EQ("State", "leased")):
            return False
        return await store.rows.commit_one(Change("delete", row)) is not None


def _row(owner: str, fields: dict[str, Any]) -> Row:
    return Row(COMMON, f"o:{row_id(owner)}", fields)


def _member(row: Row, now: float) -> Member:
    fields = row.fields
    retiring = str(fields.get("Retiring", ""))
    return Member(
        owner=_decode(fields["Owner"]),
        silent_seconds=max(0.0, now - float(fields["Heard"])),
        joined=float(fields["Joined"]),
        left=bool(fields.get("Left")) or retiring == "left",
        is_retired=bool(retiring),
    )


async def ban(store: Store, owner: str, how: str) -> bool:
    """Declare it dead: first that is written, then that its retirement is under way. False: it was before."""
    row = Row(COMMON, f"b:{row_id(owner)}", {"At": store.timeline.wall()})
    declared = await store.rows.commit_one(Change("insert", row)) is not None
    marked = await store.rows.commit_one(Change("merge", _row(owner, {"Retiring": how})))
    if marked is None and declared:
        raw, now = _encode(Owner.of_id(owner)), store.timeline.now()
        new = _row(owner, {"Id": owner, "Owner": raw, "Heard": now, "Joined": 0.0, "Retiring": how})
        await store.rows.commit_one(Change("insert", new))
    return declared


async def finish(store: Store, owner: str) -> None:
    """Nothing is left of what it held."""
    await store.rows.commit_one(Change("delete", _row(owner, {})))
