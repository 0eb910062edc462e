"""The board: pauses, posts and the last cancels in one row, which every worker reads once a second; ticks; turns."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tenure.notice import Notices, Pause, Post, PostKind, Tick, newest_cancels
from tenure.rowstore.row_changes import Change, Kind, RowChanges
from tenure.rules.post_row import PostRow, posts_of, row_of
from tenure.rules.storable import check_post, check_room
from tenure.table import RowKey

_MANY = 10_000


class _Said(msgspec.Struct, omit_defaults=True):
    paused: dict[str, Pause] = {}
    cancels: int = 0
    cancelled: tuple[str, ...] = ()
    posts: tuple[PostRow, ...] = ()


class _Turn(msgspec.Struct):
    token: str
    until: float


_SAID, _TICK, _TURN = Kind(_Said), Kind(Tick), Kind(_Turn)
_BOARD = RowKey("board", "board")


class RowStoreBoard:
    """What operators and schedules say."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes

    async def read(self) -> Notices:
        (said,) = await self._rows.get(_SAID, [_BOARD])
        if said is None:
            return Notices()
        paused = tuple(said.paused[queue] for queue in sorted(said.paused))
        return Notices(paused, said.cancels, said.cancelled, posts_of(said.posts, self._rows.table.wall()))

    async def pause(self, pause: Pause) -> bool:
        def decide(said: _Said | None) -> Change[bool]:
            said = said or _Said()
            if pause.queue in said.paused:
                return Change(answer=False)
            return Change(answer=True, to=replace(said, paused={**said.paused, pause.queue: pause}))

        return await self._rows.change_one(_SAID, _BOARD, decide)

    async def resume(self, queue: str) -> bool:
        def decide(said: _Said | None) -> Change[bool]:
            if said is None or queue not in said.paused:
                return Change(answer=False)
            left = {name: pause for name, pause in said.paused.items() if name != queue}
            return Change(answer=True, to=replace(said, paused=left))

        return await self._rows.change_one(_SAID, _BOARD, decide)

    async def post(self, post: Post) -> bool:
        check_post(post)

        def decide(said: _Said | None) -> Change[bool]:
            said, wall = said or _Said(), self._rows.table.wall()
            standing = [row for row in said.posts if not row.is_over(wall)]
            if any((row.kind, row.name) == (post.kind, post.name) for row in standing):
                return Change(answer=False)
            check_room(len(standing))
            return Change(answer=True, to=replace(said, posts=(*standing, row_of(post))))

        return await self._rows.change_one(_SAID, _BOARD, decide)

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        def decide(said: _Said | None) -> Change[bool]:
            posts = () if said is None else said.posts
            mine = next((row for row in posts if (row.kind, row.name) == (kind, name)), None)
            if said is None or mine is None or mine.is_over(self._rows.table.wall()):
                return Change(answer=False)
            return Change(answer=True, to=replace(said, posts=tuple(row for row in posts if row is not mine)))

        return await self._rows.change_one(_SAID, _BOARD, decide)

    async def name_cancels(self, ids: Sequence[str]) -> None:
        """Note that these messages were cancelled while they were leased."""

        def decide(said: _Said | None) -> Change[None]:
            said = said or _Said()
            cancelled = newest_cancels(said.cancelled, ids)
            return Change(None, replace(said, cancels=said.cancels + len(ids), cancelled=cancelled))

        if ids:
            await self._rows.change_one(_SAID, _BOARD, decide)

    async def tick(self, tick: Tick) -> bool:
        def decide(known: Tick | None) -> Change[bool]:
            if known is not None and tick.at <= known.at:
                return Change(answer=False)
            return Change(answer=True, to=tick)

        return await self._rows.change_one(_TICK, RowKey("tick", tick.schedule), decide)

    async def ticks(self) -> list[Tick]:
        rows = await self._rows.table.page("tick", limit=_MANY)
        return sorted((tick for row in rows if (tick := _TICK.read(row))), key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        def decide(known: Tick | None) -> Change[bool]:
            return Change(known is not None, remove=True)

        return await self._rows.change_one(_TICK, RowKey("tick", schedule), decide)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        def decide(turn: _Turn | None) -> Change[bool]:
            now = self._rows.now()
            if turn is not None and turn.token != token and now < turn.until <= now + seconds:
                return Change(answer=False)
            return Change(answer=True, to=_Turn(token, now + seconds))

        return await self._rows.change_one(_TURN, RowKey("turn", name), decide)
