"""The roster: which workers there are, and what the lock of each says (`presence.py`).

A worker whose lock is held counts as heard just now: the kernel proves it, also while it is stopped or swapped out. One
whose lock file is missing is silent since we saw that first; if it lives, its next `beat` makes the file again.
"""

import msgspec

from tenure.adapters.sqlite.presence import Presence
from tenure.adapters.sqlite.states import LEASED
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.errors import OwnerRetired, StoreUnwritable
from tenure.owner import Member, Owner, retired

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Owner).decode

_MEMBERS = """
SELECT id, state, moment, owner FROM owner
WHERE state IN ('joined', 'left') OR (state = 'banned' AND owner IS NOT NULL) ORDER BY moment, id
"""
_HOLDS = f"""
SELECT 1 FROM message INDEXED BY message_leased WHERE state = {LEASED}
AND fence IN (SELECT fence FROM loan WHERE owner = ?) LIMIT 1
"""


class _Leaving(msgspec.Struct):
    """Beside the owner, in the row of one that is being retired: whether it had said goodbye."""

    has_left: bool = False


_decode_leaving = msgspec.json.Decoder(_Leaving).decode


class SqliteRoster:
    """Presence in the store and in its folder."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store
        #: Since when the lock file of an owner is missing, in store time.
        self._missing: dict[str, int] = {}

    async def join(self, owner: Owner) -> None:
        """Lock first, then be listed: every listed worker can be tested."""
        self._store.presence.take(owner.id)
        try:
            await self._store.write(lambda tx: _join(tx, owner, tx.now))
        except (OwnerRetired, StoreUnwritable):
            self._store.presence.drop(owner.id)
            raise

    async def beat(self, owner: Owner) -> None:
        """Check that lock file and row are still there: they may have been removed by hand."""
        state = await self._store.read(lambda view: _state_of(view, owner.id))
        if state == "banned":
            return
        self._store.presence.keep(owner.id)
        if state is None:
            self._store.presence.take(owner.id)
            await self._store.write(lambda tx: _put_back(tx, owner))

    async def leave(self, owner: Owner) -> None:
        """Note that an owner leaves."""
        await self._store.write(lambda tx: _leave(tx, owner))
        self._store.presence.drop(owner.id)

    async def members(self) -> list[Member]:
        """Everybody on the roster, and those whose retirement is not finished."""
        return await self._store.read(self._look)

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Remove a silent owner, in one transaction with the look at what it holds."""
        presence = self._store.presence

        def act(tx: WriteTransaction) -> bool:
            since = self._missing.get(owner)
            if since is None or tx.now - since < micros(silent_seconds):
                return False
            return _remove(tx, owner, presence)

        return await self._store.write(act)

    def _look(self, view: ReadView) -> list[Member]:
        rows = view.db.execute(_MEMBERS).fetchall()
        members = [self._member(view, *row) for row in rows]
        listed = {member.owner.id for member in members}
        self._missing = {id: since for id, since in self._missing.items() if id in listed}
        return members

    def _member(self, view: ReadView, id: str, state: str, moment: int, raw: bytes) -> Member:
        owner = _decode(raw)
        if state == "banned":
            return Member(owner=owner, is_retired=True, left=_decode_leaving(raw).has_left)
        if state == "left":
            return Member(owner=owner, joined=moment, left=True)
        lock = self._store.presence.look(id)
        if lock is None:
            silent = view.now - self._missing.setdefault(id, view.now)
        else:
            silent = 0
            self._missing.pop(id, None)
        return Member(owner=owner, joined=moment, silent_seconds=seconds(silent), lock=lock)


def refuse_banned(tx: WriteTransaction, owner: str) -> None:
    """Raise `OwnerRetired` for an owner that was declared dead."""
    if _state_of(tx, owner) == "banned":
        raise retired(owner)


def ban(tx: WriteTransaction, owner: str, *, has_left: bool) -> bool:
    """Declare an owner dead; it stays listed until `finish`. False: that was done before."""
    row = tx.db.execute("SELECT state, owner FROM owner WHERE id = ?", (owner,)).fetchone()
    if row is not None and row[0] == "banned":
        return False
    known = Owner.of_id(owner) if row is None else _decode(row[1])
    raw = _encode({**msgspec.to_builtins(known), "has_left": has_left})
    tx.db.execute(
        "INSERT INTO owner (id, state, moment, owner) VALUES (?1, 'banned', ?2, ?3)"
        " ON CONFLICT (id) DO UPDATE SET state = 'banned', moment = ?2, owner = ?3",
        (owner, tx.now, raw),
    )
    return True


def finish(tx: WriteTransaction, owner: str) -> None:
    """Take a banned owner off the roster: nothing of it is left to return."""
    tx.db.execute("UPDATE owner SET owner = NULL WHERE id = ? AND state = 'banned' AND owner IS NOT NULL", (owner,))


def _state_of(view: ReadView, owner: str) -> str | None:
    row = view.db.execute("SELECT state FROM owner WHERE id = ?", (owner,)).fetchone()
    return None if row is None else row[0]


def _join(tx: WriteTransaction, owner: Owner, moment: int) -> None:
    refuse_banned(tx, owner.id)
    tx.db.execute(
        "INSERT INTO owner (id, state, moment, owner) VALUES (?1, 'joined', ?2, ?3)"
        " ON CONFLICT (id) DO UPDATE SET state = 'joined', moment = ?2, owner = ?3",
        (owner.id, moment, _encode(owner)),
    )


def _put_back(tx: WriteTransaction, owner: Owner) -> None:
    """Unless another process did, or banned it. When it joined is no longer known."""
    if _state_of(tx, owner.id) is None:
        _join(tx, owner, 0)


def _leave(tx: WriteTransaction, owner: Owner) -> None:
    tx.db.execute("UPDATE owner SET state = 'left' WHERE id = ? AND state = 'joined'", (owner.id,))


def _remove(tx: WriteTransaction, owner: str, presence: Presence) -> bool:
    if presence.look(owner) is not None or tx.db.execute(_HOLDS, (owner,)).fetchone() is not None:
        return False
    return tx.db.execute("DELETE FROM owner WHERE id = ? AND state = 'joined'", (owner,)).rowcount > 0
