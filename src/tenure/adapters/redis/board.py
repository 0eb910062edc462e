"""The board: notices of operators and schedules for every worker, and whose turn it is.

Every worker reads it once a second: four commands in one exchange. How many leased messages were cancelled, and the
ids of the last ones, are noted in the step that cancels (`lua/cancel.lua`).
"""

from typing import Any

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import BOARD, POST, TURN
from tenure.adapters.redis.store import RedisStore, micros
from tenure.notice import MOST_POSTS, Notices, Pause, Post, PostKind, Tick
from tenure.rules.post_row import PostRow, posts_of, row_of
from tenure.rules.storable import can_be_posted, check_post, check_room

_encode = msgspec.json.Encoder().encode
_pause = msgspec.json.Decoder(Pause)
_tick = msgspec.json.Decoder(Tick)
_post = msgspec.json.Decoder(PostRow)


def _cancels_at(place: str) -> list[tuple[str, ...]]:
    return [("GET", f"{place}cancels"), ("LRANGE", f"{place}cancelled", "0", "-1")]


class RedisBoard:
    """Pauses, posts, ticks and turns in the store."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store
        self._common = store.names.common

    async def read(self) -> Notices:
        """Everything a worker must know."""
        hashes = [("HVALS", f"{self._common}{name}") for name in ("pauses", "posts")]
        commands = [*_cancels_at(self._common), *hashes]
        count, ids, pauses, posts = await self._store.commands_and_time(self._common, commands)
        cancels = [(count, ids)] if not self._store.link.is_cluster else await self._cancels_of_queues()
        read = (foreign_keys.read(_pause, raw, "pauses") for raw in pauses)
        return Notices(
            tuple(sorted((pause for pause in read if pause), key=lambda pause: pause.queue)),
            sum(foreign_keys.count(count, "cancels") for count, _ in cancels),
            tuple(bytes(id).decode("utf-8", "replace") for _, ids in cancels for id in ids),
            posts_of(filter(None, map(_read_post, posts)), self._store.wall.now()),
        )

    async def _cancels_of_queues(self) -> list[tuple[Any, Any]]:
        """Read the cancels of each queue: in a cluster each queue counts for itself, in its own slot."""
        store = self._store
        places = [store.names.beside(queue) for queue in await store.queues()]
        return [tuple(await store.commands_at(place, _cancels_at(place))) for place in places]

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue."""
        return bool(await self._store.command("HSETNX", f"{self._common}pauses", pause.queue, _encode(pause)))

    async def resume(self, queue: str) -> bool:
        """Let workers lease again."""
        return bool(await self._store.command("HDEL", f"{self._common}pauses", queue))

    async def post(self, post: Post) -> bool:
        """Post a notice for every worker, and drop expired ones."""
        check_post(post)
        row = row_of(post)
        text = _ends(row.until) + b"|" + _encode(row)
        told = await self._run_post(post.kind, post.name, text, MOST_POSTS)
        if told < 0:
            check_room(MOST_POSTS)
        return told > 0

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Remove a post."""
        return can_be_posted(name) and await self._run_post(kind, name) > 0

    async def _run_post(self, kind: PostKind, name: str, *words: object) -> int:
        return int(await self._store.run(POST, (), repr(self._store.wall.now()), f"{kind} {name}", *words))

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule."""
        return bool(await self._store.run(BOARD, (), tick.schedule, repr(tick.at), _encode(tick)))

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        raws = await self._store.command("HVALS", f"{self._common}ticks")
        read = (foreign_keys.read(_tick, raw, "ticks") for raw in raws)
        return sorted((tick for tick in read if tick), key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more."""
        return bool(await self._store.run(BOARD, (), schedule))

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take or renew the turn called `name`. False: another process has it."""
        return bool(await self._store.run(TURN, (), name, token, micros(seconds)))


def _read_post(raw: bytes) -> PostRow | None:
    """Decode a post. None: the value is not a post."""
    ends, _, text = raw.partition(b"|")
    row: PostRow | None = foreign_keys.read(_post, text, "posts")
    # As `lua/post.lua` reads it; what both do not read alike could not be withdrawn.
    if row is None or ends == _ends(row.until):
        return row
    foreign_keys.tell("posts", raw)
    return None


def _ends(until: float | None) -> bytes:
    return b"" if until is None else repr(until).encode()
