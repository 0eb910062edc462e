"""The board: what operators and schedules tell every worker, and whose turn it is.

common  p:<queue>    a pause
        p@<post>     a post
        p!cancels    how many leased messages were ever cancelled, and the ids of the last ones
        t:<name>     the newest tick of a schedule
        turn:<name>  who does something, and until when
"""

import hashlib

import msgspec

from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.notice import Notices, Pause, Post, PostKind, Tick, newest_cancels
from tenure.rules.post_row import PostRow, posts_of, row_of
from tenure.rules.storable import can_be_posted, check_post, check_room

_encode = msgspec.json.Encoder().encode
_CANCELS = "p!cancels"
_POST = "p@"
#: Workers of older versions take a post for a pause, too: they find one of no queue.
_NO_PAUSE = _encode(Pause("", 0.0))


def _key(kind: str, name: str) -> str:
    return f"{kind}:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


async def name_cancel(store: Store, id: str) -> None:
    """Note that this message was cancelled while it was leased."""
    while True:
        row = await store.rows.get(COMMON, _CANCELS)
        count = 0 if row is None else int(row.fields["Count"])
        ids = newest_cancels(_cancelled(row), [id])
        fields = {"Count": count + 1, "Ids": _encode(ids)}
        new = Row(COMMON, _CANCELS, fields, "" if row is None else row.etag)
        if await store.rows.commit_one(Change("insert" if row is None else "replace", new)) is not None:
            return


def _cancelled(row: Row | None) -> list[str]:
    """None in a row of an older version."""
    raw = None if row is None else row.fields.get("Ids")
    return [] if raw is None else msgspec.json.decode(raw, type=list[str])


class AzureBoard:
    """Notices in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def read(self) -> Notices:
        """Everything a worker must know, in one call."""
        pauses, posts, cancels, cancelled = [], [], 0, list[str]()
        for row in await self._store.rows.scan(COMMON, "p"):
            if row.key == _CANCELS:
                cancels, cancelled = int(row.fields["Count"]), _cancelled(row)
            elif row.key.startswith(_POST):
                posts.append(_post(row))
            else:
                pauses.append(msgspec.json.decode(row.fields["Pause"], type=Pause))
        paused = tuple(sorted(pauses, key=lambda pause: pause.queue))
        return Notices(paused, cancels, tuple(cancelled), posts_of(posts, self._store.wall()))

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue."""
        row = Row(COMMON, _key("p", pause.queue), {"Pause": _encode(pause)})
        return await self._store.rows.commit_one(Change("insert", row)) is not None

    async def resume(self, queue: str) -> bool:
        """Let workers lease again."""
        return await self._store.rows.commit_one(Change("delete", Row(COMMON, _key("p", queue), {}))) is not None

    async def post(self, post: Post) -> bool:
        """Tell every worker something, and drop posts whose time is over."""
        check_post(post)
        rows, key = self._store.rows, _post_key(post.kind, post.name)
        fields = {"Post": _encode(row_of(post)), "Pause": _NO_PAUSE}
        while True:
            known, wall = await rows.scan(COMMON, _POST), self._store.wall()
            old = [row for row in known if _post(row).is_over(wall)]
            mine = next((row for row in known if row.key == key), None)
            if mine is not None and mine not in old:
                return False
            check_room(len(known) - len(old))
            await rows.commit([[Change("delete", row)] for row in old if row is not mine])
            new = Row(COMMON, key, fields, "" if mine is None else mine.etag)
            if await rows.commit_one(Change("insert" if mine is None else "replace", new)) is not None:
                return True

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Take a post down."""
        rows, key = self._store.rows, _post_key(kind, name)
        while can_be_posted(name):
            row = await rows.get(COMMON, key)
            if row is None or _post(row).is_over(self._store.wall()):
                return False
            if await rows.commit_one(Change("delete", row)) is not None:
                return True
        return False

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule."""
        rows, key = self._store.rows, _key("t", tick.schedule)
        while True:
            old = await rows.get(COMMON, key)
            if old is not None and msgspec.json.decode(old.fields["Tick"], type=Tick).at >= tick.at:
                return False
            new = Row(COMMON, key, {"Tick": _encode(tick)}, "" if old is None else old.etag)
            if await rows.commit_one(Change("insert" if old is None else "replace", new)) is not None:
                return True

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        found = await self._store.rows.scan(COMMON, "t:")
        ticks = [msgspec.json.decode(row.fields["Tick"], type=Tick) for row in found]
        return sorted(ticks, key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more."""
        return await self._store.rows.commit_one(Change("delete", Row(COMMON, _key("t", schedule), {}))) is not None

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Ask to be the one who does `name`."""
        rows, key, now = self._store.rows, _key("turn", name), self._store.timeline.now()
        old = await rows.get(COMMON, key)
        # Nobody waits longer than their own turn would be.
        if old is not None and old.fields["Token"] != token and now < float(old.fields["Until"]) <= now + seconds:
            return False
        fields = {"Token": token, "Until": now + seconds}
        new = Row(COMMON, key, fields, "" if old is None else old.etag)
        # Refused: somebody else asked at the same time, and has it.
        return await rows.commit_one(Change("insert" if old is None else "replace", new)) is not None


def _post_key(kind: PostKind, name: str) -> str:
    return f"{_POST}{kind}:{row_id(name)}"


def _post(row: Row) -> PostRow:
    return msgspec.json.decode(row.fields["Post"], type=PostRow)
