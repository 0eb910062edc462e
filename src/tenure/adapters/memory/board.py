"""The board in memory: notices of operators and schedules, and whose turn it is.

`operating.py` writes the count and the ids of cancels, in the step that cancels.
"""

from operator import attrgetter

from tenure.adapters.memory.store import MemoryDatabase
from tenure.notice import Notices, Pause, Post, PostKind, Tick, standing_posts
from tenure.rules.storable import check_post, check_room


class MemoryBoard:
    """Pauses, posts, cancels, ticks and turns."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def read(self) -> Notices:
        """Everything a worker must know."""
        async with self._store.step():
            paused = sorted(self._store.pauses.values(), key=attrgetter("queue"))
            posts = standing_posts(self._store.posts.values(), self._store.clock.wall())
            return Notices(tuple(paused), self._store.cancels, self._store.cancelled, posts)

    async def pause(self, pause: Pause) -> bool:
        """Pause a queue, unless it is paused already."""
        async with self._store.step():
            if pause.queue in self._store.pauses:
                return False
            self._store.pauses[pause.queue] = pause
            return True

    async def resume(self, queue: str) -> bool:
        """Remove a queue's pause."""
        async with self._store.step():
            return self._store.pauses.pop(queue, None) is not None

    async def post(self, post: Post) -> bool:
        """Post a notice for every worker, and drop expired ones."""
        check_post(post)
        async with self._store.step():
            standing = standing_posts(self._store.posts.values(), self._store.clock.wall())
            self._store.posts = {(one.kind, one.name): one for one in standing}
            if (post.kind, post.name) in self._store.posts:
                return False
            check_room(len(standing))
            self._store.posts[post.kind, post.name] = post
            return True

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Remove a post."""
        async with self._store.step():
            post = self._store.posts.pop((kind, name), None)
            return post is not None and not post.is_over(self._store.clock.wall())

    async def tick(self, tick: Tick) -> bool:
        """Note a tick that is newer than the one that is known."""
        async with self._store.step():
            known = self._store.ticks.get(tick.schedule)
            if known is not None and tick.at <= known.at:
                return False
            self._store.ticks[tick.schedule] = tick
            return True

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule."""
        async with self._store.step():
            return sorted(self._store.ticks.values(), key=attrgetter("schedule"))

    async def forget(self, schedule: str) -> bool:
        """Remove a schedule's last tick."""
        async with self._store.step():
            return self._store.ticks.pop(schedule, None) is not None

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take or renew the turn called `name`. False: another process has it."""
        async with self._store.step() as now:
            holder, until = self._store.turns.get(name, ("", 0.0))
            if holder != token and now < until <= now + seconds:
                return False
            self._store.turns[name] = token, now + seconds
            return True
