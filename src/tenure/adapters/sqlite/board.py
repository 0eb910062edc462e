"""The board: notices of operators and schedules for every worker, and whose turn it is.

Every worker reads it once a second: one statement, which on most days finds one row. Pauses, posts and ticks are a row
each; how many leased messages were cancelled, and the ids of the last ones, are kept in `meta` by `cancelling.py`, in
the step that cancels.
"""

import msgspec

from tenure.adapters.sqlite import turn
from tenure.adapters.sqlite.cancelling import read_cancelled
from tenure.adapters.sqlite.job import UNSURE
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.notice import Notices, Pause, Post, PostKind, Tick
from tenure.rules.post_row import PostRow, posts_of, row_of
from tenure.rules.storable import can_be_posted, check_post, check_room

_READ = """
SELECT meta.value, (SELECT value FROM meta WHERE name = 'cancelled'),
    (SELECT '[' || group_concat(post) || ']' FROM post), pause.queue, pause.at, pause.by
FROM meta LEFT JOIN pause WHERE meta.name = 'cancels' ORDER BY pause.queue
"""
_PAUSE = "INSERT INTO pause (queue, at, by) VALUES (?, ?, ?) ON CONFLICT (queue) DO NOTHING"
_STANDING = "SELECT count(*), coalesce(max(kind = ? AND name = ?), 0) FROM post"
_POST = "INSERT INTO post (kind, name, until, post) VALUES (?, ?, ?, ?)"
_WITHDRAW = "DELETE FROM post WHERE kind = ? AND name = ? AND (until IS NULL OR until > ?)"
_TICK = """
INSERT INTO tick (schedule, at, tick) VALUES (?, ?, ?)
ON CONFLICT (schedule) DO UPDATE SET at = excluded.at, tick = excluded.tick WHERE excluded.at > at
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Tick).decode
_decode_posts = msgspec.json.Decoder(list[PostRow]).decode


class SqliteBoard:
    """Pauses, posts, ticks and turns in the store."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def read(self) -> Notices:
        """Everything a worker must know."""
        return await self._store.read(_read)

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue."""
        return await self._store.write(lambda tx: _changes(tx, _PAUSE, pause.queue, pause.at, pause.by))

    async def resume(self, queue: str) -> bool:
        """Let workers lease again."""
        return await self._store.write(lambda tx: _changes(tx, "DELETE FROM pause WHERE queue = ?", queue))

    async def post(self, post: Post) -> bool:
        """Post a notice for every worker, and drop expired ones."""
        check_post(post)
        return await self._store.write(lambda tx: _post(tx, post))

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Remove a post."""
        if not can_be_posted(name):
            return False
        return await self._store.write(lambda tx: _changes(tx, _WITHDRAW, kind, name, tx.wall))

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule. When many workers do so at once, most need no write lock."""
        raw = _encode(tick)
        return await self._store.write(
            lambda tx: _changes(tx, _TICK, tick.schedule, tick.at, raw), lambda view: _is_known(view, tick)
        )

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        return await self._store.read(_ticks)

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more."""
        return await self._store.write(lambda tx: _changes(tx, "DELETE FROM tick WHERE schedule = ?", schedule))

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take or renew the turn called `name`. False: another process has it.

        Every process asks under the write lock, so each sees when no process can write (`stall.py`).
        """
        length = micros(seconds)
        return await self._store.write(lambda tx: turn.take(tx.db, name, token, tx.now, length), is_light=True)


def _read(view: ReadView) -> Notices:
    rows = view.db.execute(_READ).fetchall()
    paused = tuple(Pause(queue, at, by) for _, _, _, queue, at, by in rows if queue is not None)
    cancels, cancelled, raw, *_ = rows[0]
    posts = () if raw is None else posts_of(_decode_posts(raw), view.wall)
    return Notices(paused, cancels, read_cancelled(cancelled), posts)


def _post(tx: WriteTransaction, post: Post) -> bool:
    tx.db.execute("DELETE FROM post WHERE until <= ?", (tx.wall,))
    standing, is_there = tx.db.execute(_STANDING, (post.kind, post.name)).fetchone()
    if is_there:
        return False
    check_room(standing)
    return _changes(tx, _POST, post.kind, post.name, post.until, _encode(row_of(post)).decode())


def _changes(tx: WriteTransaction, statement: str, *values: object) -> bool:
    return tx.db.execute(statement, values).rowcount > 0


def _is_known(view: ReadView, tick: Tick) -> bool:
    """False, as `tick` answers then: one as new was noted before. Else only the act itself can decide."""
    row = view.db.execute("SELECT at FROM tick WHERE schedule = ?", (tick.schedule,)).fetchone()
    return UNSURE if row is None or tick.at > row[0] else False


def _ticks(view: ReadView) -> list[Tick]:
    return [_decode(raw) for (raw,) in view.db.execute("SELECT tick FROM tick ORDER BY schedule").fetchall()]
