"""The board port on the store: what operators and schedules tell every worker, and whose turn it is.

The count and the ids of cancels are kept by `operating.py`, in the step that cancels.
"""

from operator import attrgetter

from tenure.adapters.memory.store import Store
from tenure.notice import Notices, Pause, Post, PostKind, Tick, standing_posts
from tenure.rules.storable import check_post, check_room


class MemoryBoard:
    """Pauses, posts, cancels, ticks and turns."""

    def __init__(self, store: Store) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def read(self) -> Notices:
        """Everything a worker must know."""
        async with self._store.step():
            paused = sorted(self._store.pauses.values(), key=attrgetter("queue"))
            posts = standing_posts(self._store.posts.values(), self._store.clock.wall())
            return Notices(tuple(paused), self._store.cancels, self._store.cancelled, posts)

    async def pause(self, pause: Pause) -> bool:
        """Pause a queue, unless somebody did before."""
        async with self._store.step():
            if pause.queue in self._store.pauses:
                return False
            self._store.pauses[pause.queue] = pause
            return True

    async def resume(self, queue: str) -> bool:
        """Take the pause back."""
        async with self._store.step():
            return self._store.pauses.pop(queue, None) is not None

    async def post(self, post: Post) -> bool:
        """Tell every worker something, and drop posts whose time is over."""
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
        """Take a post down."""
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
        """Forget a schedule."""
        async with self._store.step():
            return self._store.ticks.pop(schedule, None) is not None

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Whose turn it is."""
        async with self._store.step() as now:
            holder, until = self._store.turns.get(name, ("", 0.0))
            if holder != token and now < until <= now + seconds:
                return False
            self._store.turns[name] = token, now + seconds
            return True
