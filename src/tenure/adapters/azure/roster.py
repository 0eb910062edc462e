"""The roster: which workers are alive, by their own word.

Nothing in an account proves that a process has ended, so a worker says every five seconds that it is there; of whom
nothing was heard for 15 seconds is given up. So is, after half of that, one whose name a new boot has. If nobody looked
for a while, nobody is blamed for silence before all could be heard again. One worker looks for all of them: if each
read the word of everybody, that alone would be too much for the table where there are a hundred.

    common  o:<owner>   an owner, and when it was last heard
            b:<owner>   it was retired; kept as long as what is done, and for a day at least (`retention.py`)
            o!looked    when somebody last looked for the dead, and which worker; read together with the owners
"""

import os
import random
from typing import Any

import msgspec

from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ
from tenure.owner import DeadOwner, Owner

#: How long a word counts, and how often it is said.
PRESENCE_SECONDS = 15.0
_WORD_SECONDS = 5.0
#: How long for one whose name somebody else has now: it must have missed a word at least.
_REPLACED_SECONDS = 7.5
#: Who found nobody dead does not look again for so long.
_LOOK_SECONDS = 2.5
#: If nobody looked for so long, nobody is blamed for silence.
_GAP_SECONDS = 10.0

#: Not an owner, though it lies among them.
LOOKED = "o!looked"
_SILENT = f"nothing was heard of it for {PRESENCE_SECONDS:.0f} s"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Owner).decode


async def is_banned(store: Store, owner: str) -> bool:
    """Whether an owner was retired."""
    return await store.rows.get(COMMON, f"b:{row_id(owner)}") is not None


async def present(store: Store) -> set[str]:
    """The ids of everybody on the roster."""
    return {str(row.fields["Id"]) for row in await store.rows.scan(COMMON, "o:")}


class AzureRoster:
    """Presence in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        #: When each owner of ours last said that it is there.
        self._said: dict[str, float] = {}
        #: Who we are among those who look for the dead.
        self._token = os.urandom(8).hex()

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster. One that was retired stays off it; its next `lease` says so."""
        if await is_banned(self._store, owner.id):
            return
        row = self._row(owner)
        before = await self._store.rows.scan(COMMON, "o:", EQ("Name", owner.name))
        replaced = [
            Row(one.part, one.key, {"ReplacedAt": row.fields["Joined"]}) for one in before if one.key != row.key
        ]
        await self._store.rows.commit([[Change("merge", one)] for one in replaced])
        if await self._store.rows.commit_one(Change("insert", row)) is None:
            await self._store.rows.commit_one(Change("replace", row))

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there; every few seconds is enough."""
        now = self._store.timeline.now()
        if now - self._said.get(owner.id, -_WORD_SECONDS) < _WORD_SECONDS - 1.0:
            return
        fields = {"Heard": now, "Silent": False}
        row = Row(COMMON, f"o:{row_id(owner.id)}", fields)
        if await self._store.rows.commit_one(Change("merge", row)) is not None:
            self._said[owner.id] = now

    async def leave(self, owner: Owner) -> None:
        """Goodbye: it is listed by `dead` as one that left, until it is retired."""
        self._store.shared.no_dead_until = 0.0
        row = Row(COMMON, f"o:{row_id(owner.id)}", {"Left": True})
        await self._store.rows.commit_one(Change("merge", row))

    async def alive(self) -> list[Owner]:
        """Everybody who neither left nor fell silent."""
        rows, now, since = await self._look()
        return [_decode(row.fields["Owner"]) for row in rows if _proof(row, now, since) is None]

    async def dead(self) -> list[DeadOwner]:
        """Everybody who left, was replaced by a new boot, or fell silent. Asked far more often than that can change."""
        now = self._store.timeline.now()
        if now < self._store.shared.no_dead_until or await self._is_looked_after(now):
            return []
        rows, now, since = await self._look(is_worker=bool(self._said))
        found = []
        for row in rows:
            proof = _proof(row, now, since)
            if proof is not None:
                left = bool(row.fields.get("Left"))
                if proof == _SILENT and not row.fields.get("Silent"):
                    # So that whoever retires it knows that nobody saw it end.
                    mark = Row(row.part, row.key, {"Silent": True}, row.etag)
                    await self._store.rows.commit_one(Change("merge", mark))
                found.append(DeadOwner(_decode(row.fields["Owner"]), proof, left=left))
        if not found:
            self._store.shared.no_dead_until = now + _LOOK_SECONDS
        return found

    async def _is_looked_after(self, now: float) -> bool:
        """Whether another worker looked a moment ago, and does what is to be done. Who is no worker looks itself."""
        looked = await self._store.rows.get(COMMON, LOOKED) if self._said else None
        if looked is None or looked.fields.get("By") in (None, self._token):
            return False
        until = float(looked.fields["ByAt"]) + _LOOK_SECONDS
        if now >= until:
            return False
        # A little later than the other, who so goes on to be the one.
        self._store.shared.no_dead_until = until + random.uniform(0.0, 1.0)  # noqa: S311 - only to spread
        return True

    async def _look(self, *, is_worker: bool = False) -> tuple[list[Row], float, float]:
        """Who is on the roster, as of when, and since when a silence counts: not from before a time without a look.

        As of when it was asked: an answer that comes late makes nobody silent.
        """
        store, now = self._store, self._store.timeline.now()
        rows = await store.rows.scan(COMMON, "o")
        looked = next((row for row in rows if row.key == LOOKED), None)
        last = float(looked.fields["At"]) if looked is not None else None
        since = float(looked.fields["Since"]) if looked is not None else now
        if last is None or now - last > _GAP_SECONDS:
            since = now
        if last is None or now - last > 1.0:
            fields: dict[str, Any] = {} if looked is None else dict(looked.fields)
            fields |= {"At": now, "Since": since}
            if is_worker:
                fields |= {"By": self._token, "ByAt": now}
            row = Row(COMMON, LOOKED, fields, "" if looked is None else looked.etag)
            await store.rows.commit_one(Change("insert" if looked is None else "replace", row))
        return [row for row in rows if row.key != LOOKED], now, since

    def _row(self, owner: Owner) -> Row:
        now = self._store.timeline.now()
        self._said[owner.id] = now
        fields = {"Id": owner.id, "Name": owner.name, "Owner": _encode(owner), "Heard": now, "Joined": now}
        return Row(COMMON, f"o:{row_id(owner.id)}", fields)


def _proof(row: Row, now: float, since: float) -> str | None:
    """Why it is dead. None: it is not known to be."""
    fields = row.fields
    if fields.get("Left"):
        return "it said goodbye"
    silence = now - max(float(fields["Heard"]), since)
    if silence > _REPLACED_SECONDS and is_replaced(row):
        return "nothing is heard of it, and a new boot under its name is here"
    return _SILENT if silence > PRESENCE_SECONDS else None


def is_replaced(row: Row) -> bool:
    """Whether a new boot joined under its name after its last word."""
    return float(row.fields.get("ReplacedAt", 0.0)) > float(row.fields["Heard"])


async def retire(store: Store, owner: str) -> bool:
    """Ban an owner, and take it off the roster. True: it only fell silent, and nobody knows how it ended."""
    row = await store.rows.get(COMMON, f"o:{row_id(owner)}")
    ban = Row(COMMON, f"b:{row_id(owner)}", {"At": store.timeline.wall()})
    await store.rows.commit_one(Change("insert", ban))
    await store.rows.commit_one(Change("delete", Row(COMMON, f"o:{row_id(owner)}", {})))
    return row is not None and bool(row.fields.get("Silent"))
