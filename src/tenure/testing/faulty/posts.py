"""Boards that lose posts, mix them up, or keep them for too long."""

import asyncio

import msgspec

from tenure.errors import BadArgument
from tenure.notice import Notices, Pause, Post, PostKind
from tenure.state import State
from tenure.testing.faulty.honest_state import HonestBoard
from tenure.testing.virtual import VirtualClock


class SecondPostWins(HonestBoard):
    """Writes over a post that stands."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Replace the post that stands."""
        was_posted = await self.inner.withdraw(post.kind, post.name)
        await self.inner.post(post)
        return not was_posted


class EveryPostIsNew(HonestBoard):
    """Tells everybody that the post is theirs."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Answer that the post is new."""
        await self.inner.post(post)
        return True


class LooksThenPosts(HonestBoard):
    """Looks whether a post stands, and posts: of two at once, both were first."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Look and post in two steps."""
        standing = [(one.kind, one.name) for one in (await self.inner.read()).posts]
        await asyncio.sleep(0)
        await self.inner.post(post)
        return (post.kind, post.name) not in standing


class MixesKindsOfPosts(HonestBoard):
    """Keeps posts by their name alone."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Refuse a name that another kind has."""
        if any(one.name == post.name for one in (await self.inner.read()).posts):
            return False
        return await self.inner.post(post)


class WithdrawsEveryKind(HonestBoard):
    """Takes down all posts of a name."""

    caught_by = ("Posts",)

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Withdraw the posts of every kind."""
        answers = {each: await self.inner.withdraw(each, name) for each in PostKind}
        return answers[kind]


class PostsStandForEver(HonestBoard):
    """Forgets until when a post stands."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Post without an end."""
        return await self.inner.post(msgspec.structs.replace(post, until=None))


class OldPostsBlockNewOnes(HonestBoard):
    """Shows no post whose time is over, and takes none in its place."""

    caught_by = ("Posts",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Remember what was posted."""
        super().__init__(inner, clock)
        self._taken: set[tuple[PostKind, str]] = set()

    async def post(self, post: Post) -> bool:
        """Refuse a name that was ever posted."""
        if (post.kind, post.name) in self._taken:
            return False
        self._taken.add((post.kind, post.name))
        return await self.inner.post(post)

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Withdraw, and free the name."""
        self._taken.discard((kind, name))
        return await self.inner.withdraw(kind, name)


class OldPostsFillTheBoard(HonestBoard):
    """Counts posts whose time is over among those that stand."""

    caught_by = ("Posts",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Count."""
        super().__init__(inner, clock)
        self._count = 0

    async def post(self, post: Post) -> bool:
        """Refuse once 500 posts were made."""
        if self._count >= 500:
            msg = "the board is full; nothing was posted"
            raise BadArgument(msg)
        posted = await self.inner.post(post)
        self._count += posted
        return posted


class PausesDropPosts(HonestBoard):
    """Writes the board again with each pause, as a version did that knew no posts."""

    caught_by = ("Posts",)

    async def pause(self, pause: Pause) -> bool:
        """Drop all posts, then pause."""
        await _drop_all(self)
        return await self.inner.pause(pause)


class ResumingDropsPosts(HonestBoard):
    """Writes the board again with each resume."""

    caught_by = ("Posts",)

    async def resume(self, queue: str) -> bool:
        """Drop all posts, then resume."""
        await _drop_all(self)
        return await self.inner.resume(queue)


class CancelsDropPosts(HonestBoard):
    """Writes the board again when a message was cancelled."""

    caught_by = ("Posts",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin at zero cancels."""
        super().__init__(inner, clock)
        self._cancels = 0

    async def read(self) -> Notices:
        """Drop all posts after a cancel."""
        notices = await self.inner.read()
        if notices.cancels == self._cancels:
            return notices
        self._cancels = notices.cancels
        await _drop_all(self)
        return msgspec.structs.replace(notices, posts=())


class TellsPostsInAnyOrder(HonestBoard):
    """Lists posts as they come."""

    caught_by = ("Posts",)

    async def read(self) -> Notices:
        """Return the posts in reverse."""
        notices = await self.inner.read()
        return msgspec.structs.replace(notices, posts=notices.posts[::-1])


class ForgetsWhoPosted(HonestBoard):
    """Keeps what was posted, and not by whom."""

    caught_by = ("Posts",)

    async def post(self, post: Post) -> bool:
        """Post without the name of the process."""
        return await self.inner.post(msgspec.structs.replace(post, by=""))


async def _drop_all(board: HonestBoard) -> None:
    for post in (await board.inner.read()).posts:
        await board.inner.withdraw(post.kind, post.name)
