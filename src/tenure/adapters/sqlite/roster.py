"""The roster: which workers are alive, proven by a lock that the kernel keeps (`presence.py`).

An owner is dead if its lock is free, or if it belongs to an earlier boot of the machine. A worker that is
stopped or swapped out keeps its lock, and is alive.
"""

import msgspec

from tenure.adapters.sqlite.store import Store
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.errors import OwnerRetired
from tenure.owner import DeadOwner, Owner, retired

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Owner).decode


class SqliteRoster:
    """Presence in the store and in its folder."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def join(self, owner: Owner) -> None:
        """Lock first, then be listed: whoever is listed can be tested."""
        self._store.presence.take(owner.id)
        try:
            await self._store.write(lambda tx: _join(tx, owner))
        except OwnerRetired:
            self._store.presence.drop(owner.id)
            raise

    async def beat(self, owner: Owner) -> None:
        """Nothing to say: the kernel keeps the lock for as long as the process lives."""

    async def leave(self, owner: Owner) -> None:
        """Goodbye."""
        await self._store.write(lambda tx: _leave(tx, owner))
        self._store.presence.drop(owner.id)

    async def alive(self) -> list[Owner]:
        """Everybody on the roster who is not proven dead."""
        judged = await self._store.read(self._judge)
        return [owner for owner, dead in judged if dead is None]

    async def dead(self) -> list[DeadOwner]:
        """Everybody on the roster who is proven dead, or left."""
        dead = [dead for _, dead in await self._store.read(self._judge) if dead is not None]
        if all(one.left for one in dead):
            return dead
        # Whoever leaves says so first and frees its lock then. Between our look at the row and our look at the
        # lock it may have done both: a second look at the row tells a goodbye from a crash.
        return [dead for _, dead in await self._store.read(self._judge) if dead is not None]

    def _judge(self, view: View) -> list[tuple[Owner, DeadOwner | None]]:
        rows = view.db.execute(
            "SELECT owner, state FROM owner WHERE state IN ('joined', 'left') ORDER BY moment, id"
        ).fetchall()
        owners = [(_decode(raw), state) for raw, state in rows]
        return [(owner, self._death(owner, state)) for owner, state in owners]

    def _death(self, owner: Owner, state: str) -> DeadOwner | None:
        if state == "left":
            return DeadOwner(owner, "it said goodbye", left=True)
        if owner.boot_id and owner.boot_id != self._store.clock.boot_id():
            return DeadOwner(owner, "the machine was started again since it joined")
        if not self._store.presence.is_held(owner.id):
            return DeadOwner(owner, "its lock file is free: the process is gone")
        return None


def refuse_banned(tx: Transaction, owner: str) -> None:
    """Raise `OwnerRetired` for an owner that was declared dead."""
    banned = tx.db.execute("SELECT 1 FROM owner WHERE id = ? AND state = 'banned'", (owner,)).fetchone()
    if banned is not None:
        raise retired(owner)


def _join(tx: Transaction, owner: Owner) -> None:
    refuse_banned(tx, owner.id)
    tx.db.execute(
        "INSERT INTO owner (id, state, moment, owner) VALUES (?1, 'joined', ?2, ?3)"
        " ON CONFLICT (id) DO UPDATE SET state = 'joined', moment = ?2, owner = ?3",
        (owner.id, tx.now, _encode(owner)),
    )


def _leave(tx: Transaction, owner: Owner) -> None:
    tx.db.execute("UPDATE owner SET state = 'left', moment = ? WHERE id = ? AND state = 'joined'", (tx.now, owner.id))
