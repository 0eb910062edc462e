"""Records: what is known about a message, while it lives and for a while after.

There is nothing to keep in step: the message's own row is the record. Only the holder of the lease writes progress and
checkpoint.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.sqlite import edited, message_notes
from tenure.adapters.sqlite.receipt import find
from tenure.adapters.sqlite.states import STATES
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.timeline import seconds
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.record import Progress, Record
from tenure.verdict import Reason

_encode = msgspec.json.Encoder().encode
_progress = msgspec.json.Decoder(Progress)
_reason = msgspec.json.Decoder(Reason)

_GET = """
SELECT message.*, note.progress, note.history, loan.owner, outcome.result AS own_result FROM message
LEFT JOIN note USING (seq) LEFT JOIN outcome USING (seq) LEFT JOIN loan USING (fence) WHERE message.id = ?
"""


_FIND = "SELECT id FROM message WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"


class SqliteRecords:
    """Status, progress and checkpoints in the store."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def get(self, id: str, queue: str | None = None) -> Record | None:  # noqa: ARG002 - ids are unique here
        """Everything known about a message."""
        return await self._store.read(lambda view: _get(view, id))

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Everything known about each of these messages, in one look."""
        return await self._store.read(lambda view: [_get(view, id) for id, _ in wanted])

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters, read from the index."""
        return await self._store.read(lambda view: _find(view, beginning, limit))

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are."""
        entries = [(lease, _encode(progress)) for lease, progress in batch]
        return await self._store.write(lambda tx: _keep(tx, "progress", entries), is_light=True)

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep what the next run starts from."""
        (kept,) = await self._store.write(lambda tx: _keep(tx, "checkpoint", [(lease, data)]))
        return kept

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Return the checkpoint that an earlier run stored."""
        return await self._store.read(lambda view: _load(view, id))


def _keep(tx: WriteTransaction, column: str, entries: Sequence[tuple[Lease, bytes]]) -> list[bool]:
    """Store values under valid leases only. Of several values for one message the last one is kept."""
    standing = find(tx, [lease for lease, _ in entries])
    rows = {held.seq: value for held, (_, value) in zip(standing, entries, strict=True) if held is not None}
    message_notes.keep(tx, column, list(rows.items()))
    return [held is not None for held in standing]


def _load(view: ReadView, id: str) -> bytes | None:
    row = view.db.execute("SELECT checkpoint FROM message JOIN note USING (seq) WHERE id = ?", (id,)).fetchone()
    return row[0] if row is not None else None


def _find(view: ReadView, beginning: str, limit: int) -> list[str]:
    # Not LIKE, which has wildcards. Texts are compared by their bytes in UTF-8, and nothing comes after the last
    # character that there is.
    found = view.db.execute(_FIND, (beginning, f"{beginning}\U0010ffff", limit))
    return [row[0] for row in found]


def _get(view: ReadView, id: str) -> Record | None:
    cursor = view.db.execute(_GET, (id,))
    values = cursor.fetchone()
    if values is None:
        return None
    row = dict(zip((column[0] for column in cursor.description), values, strict=True))
    state = STATES[row["state"]]
    leased = state is MessageState.LEASED
    moment = edited.moment(row["moment"])
    until = None if moment is None else seconds(moment - view.now)
    return Record(
        id=id,
        queue=row["queue"],
        task=row["task"],
        state=state,
        counters=Counters(*edited.counters([row[name] for name in ("deliveries", "attempts", "crashes", "lost")])),
        owner=row["owner"] if leased else None,
        fence=row["fence"] if leased else None,
        sent_at=edited.number(row["sent_at"]),
        finished_at=edited.number(row["finished_at"]),
        deadline_in=until if leased else None,
        due_in=until if state is MessageState.DELAYED else None,
        result=row["result"] if row["own_result"] is None else row["own_result"],
        reason=edited.read(_reason, row["reason"]),
        progress=edited.read(_progress, row["progress"]),
        history=tuple(message_notes.decode_history(row["history"])),
        envelope=edited.raw(row["envelope"]),
    )
