"""Posts: notices from operators to workers besides pauses, until they are withdrawn or expire."""

import asyncio

import msgspec
import pytest

from tenure.errors import BadArgument
from tenure.notice import MOST_POSTS, Notices, Pause, Post, PostKind, Tick
from tenure.state import State
from tenure.testing.harness import Harness, NotApplicable

SCHEDULE, STACK = PostKind.PAUSED_SCHEDULE, PostKind.STACK
#: Longer than the error of a clock that counts in seconds.
SECONDS = 10.0


class Posts:
    """The promises of `Board.post` and `Board.withdraw`."""

    async def test_a_post_is_told_as_it_was_said(self, harness: Harness) -> None:
        post = Post(kind=STACK, name="ä message: 7/8", at=1000.25, by="ada@höst", until=harness.state.wall() + 60.125)
        bare = Post(kind=SCHEDULE, name="nightly", at=0.0)
        assert await harness.state.board.post(post) is True
        assert await harness.state.board.post(bare) is True
        assert await harness.state.board.read() == Notices(posts=(bare, post))

    async def test_posts_are_told_by_kind_and_name(self, harness: Harness) -> None:
        for kind, name in ((STACK, "a"), (SCHEDULE, "c"), (STACK, "B"), (SCHEDULE, "ä"), (SCHEDULE, "b")):
            assert await harness.state.board.post(Post(kind=kind, name=name, at=1.0)) is True
        told = [(post.kind, post.name) for post in await _posts(harness)]
        assert told == [(SCHEDULE, "b"), (SCHEDULE, "c"), (SCHEDULE, "ä"), (STACK, "B"), (STACK, "a")]

    async def test_the_first_post_stands(self, harness: Harness) -> None:
        first = Post(kind=SCHEDULE, name="nightly", at=10.0, by="ada")
        await harness.state.board.post(first)
        assert await harness.state.board.post(first) is False
        later = Post(kind=SCHEDULE, name="nightly", at=20.0, by="eve", until=harness.state.wall() + 60.0)
        assert await harness.state.board.post(later) is False
        assert await _posts(harness) == (first,)

    async def test_of_posts_at_once_one_stands(self, harness: Harness) -> None:
        posts = [Post(kind=STACK, name="m", at=float(number)) for number in range(6)]
        answers = await asyncio.gather(*(harness.state.board.post(post) for post in posts))
        assert sorted(answers) == [False] * 5 + [True]
        assert await _posts(harness) == (posts[answers.index(True)],)

    async def test_of_different_posts_at_once_all_stand(self, harness: Harness) -> None:
        posts = tuple(Post(kind=STACK, name=str(number), at=1.0) for number in range(6))
        assert await asyncio.gather(*(harness.state.board.post(post) for post in posts)) == [True] * 6
        assert await _posts(harness) == posts

    async def test_kinds_with_the_same_name_are_apart(self, harness: Harness) -> None:
        one, other = (Post(kind=kind, name="same", at=1.0) for kind in (SCHEDULE, STACK))
        assert await harness.state.board.post(one) is True
        assert await harness.state.board.post(other) is True
        assert await harness.state.board.withdraw(SCHEDULE, "same") is True
        assert await _posts(harness) == (other,)

    async def test_a_withdrawn_post_stands_no_more(self, harness: Harness) -> None:
        post = Post(kind=SCHEDULE, name="nightly", at=1.0)
        await harness.state.board.post(post)
        assert await harness.state.board.withdraw(SCHEDULE, "nightly") is True
        assert await harness.state.board.withdraw(SCHEDULE, "nightly") is False
        assert await _posts(harness) == ()
        assert await harness.state.board.post(post) is True

    async def test_what_was_not_posted_cannot_be_withdrawn(self, harness: Harness) -> None:
        assert await harness.state.board.withdraw(STACK, "m") is False
        await harness.state.board.post(Post(kind=STACK, name="m", at=1.0))
        for name in ("M", "n", "", "\ud800", "x" * 5000):
            assert await harness.state.board.withdraw(STACK, name) is False
        assert len(await _posts(harness)) == 1

    async def test_it_stands_until_its_time_is_over(self, harness: Harness) -> None:
        short = Post(kind=STACK, name="a", at=1.0, until=harness.state.wall() + SECONDS)
        long = Post(kind=STACK, name="b", at=1.0)
        await harness.state.board.post(short)
        await harness.state.board.post(long)
        await _pass(harness, SECONDS - 2.0)
        assert await _posts(harness) == (short, long)
        assert await harness.state.board.post(msgspec.structs.replace(short, at=2.0)) is False
        await _pass(harness, 4.0)
        assert await _posts(harness) == (long,)

    async def test_one_whose_time_is_over_is_replaced(self, harness: Harness) -> None:
        await harness.state.board.post(Post(kind=STACK, name="a", at=1.0, until=harness.state.wall() + SECONDS))
        await _pass(harness, SECONDS + 2.0)
        again = Post(kind=STACK, name="a", at=2.0, until=harness.state.wall() + SECONDS)
        assert await harness.state.board.post(again) is True
        assert await _posts(harness) == (again,)
        assert await harness.state.board.post(again) is False

    async def test_one_whose_time_is_over_cannot_be_withdrawn(self, harness: Harness) -> None:
        await harness.state.board.post(Post(kind=STACK, name="a", at=1.0, until=harness.state.wall() + SECONDS))
        await _pass(harness, SECONDS + 2.0)
        assert await harness.state.board.withdraw(STACK, "a") is False

    async def test_a_board_is_full_only_of_what_stands(self, harness: Harness) -> None:
        """Each question about a stack is a post; none of them is withdrawn."""
        if not harness.fills_boards:
            raise NotApplicable(f"{MOST_POSTS} posts take too long here")
        until = harness.state.wall() + SECONDS
        for number in range(MOST_POSTS):
            assert await harness.state.board.post(Post(kind=STACK, name=f"{number:04}", at=1.0, until=until)) is True
        assert len(await _posts(harness)) == MOST_POSTS
        with pytest.raises(BadArgument, match="nothing was posted"):
            await harness.state.board.post(Post(kind=STACK, name="one too many", at=1.0))
        assert await harness.state.board.post(Post(kind=STACK, name="0000", at=1.0)) is False
        await _pass(harness, SECONDS + 2.0)
        last = Post(kind=STACK, name="the next", at=1.0)
        assert await harness.state.board.post(last) is True
        assert await _posts(harness) == (last,)

    async def test_a_post_makes_room_by_removing_those_whose_time_is_over(self, harness: Harness) -> None:
        for name in "abc":
            await harness.state.board.post(Post(kind=STACK, name=name, at=1.0, until=harness.state.wall() + SECONDS))
        standing = Post(kind=SCHEDULE, name="b", at=1.0)
        await harness.state.board.post(standing)
        await _pass(harness, SECONDS + 2.0)
        again = Post(kind=STACK, name="b", at=2.0)
        assert await harness.state.board.post(again) is True
        assert await _posts(harness) == (standing, again)

    async def test_pauses_and_posts_are_told_together(self, harness: Harness) -> None:
        pause, post = Pause("print", 10.0, "ada"), Post(kind=SCHEDULE, name="nightly", at=1.0)
        await harness.state.board.post(post)
        await harness.state.board.pause(pause)
        assert await harness.state.board.read() == Notices((pause,), posts=(post,))

    async def test_it_survives_what_else_is_said_on_the_board(self, harness: Harness) -> None:
        board = harness.state.board
        post = Post(kind=SCHEDULE, name="nightly", at=1.0)
        await board.post(post)
        pause = Pause("print", 10.0)
        await board.pause(pause)
        assert await _posts(harness) == (post,)
        lease = await harness.leased(harness.stranger())
        await harness.broker.cancel([lease.id])
        assert await board.read() == Notices((pause,), 1, (lease.id,), (post,))
        await board.resume("print")
        await board.tick(Tick(schedule="nightly", at=5.0))
        await board.forget("nightly")
        await board.take_turn("sweep", "token", 5.0)
        assert await board.read() == Notices((), 1, (lease.id,), (post,))
        await board.withdraw(SCHEDULE, "nightly")
        assert await board.read() == Notices((), 1, (lease.id,))

    async def test_pauses_and_posts_at_once_are_all_kept(self, harness: Harness) -> None:
        board = harness.state.board
        pauses = tuple(Pause(str(number), 1.0) for number in range(5))
        posts = tuple(Post(kind=STACK, name=str(number), at=1.0) for number in range(5))
        await asyncio.gather(*map(board.pause, pauses), *map(board.post, posts))
        assert await board.read() == Notices(pauses, posts=posts)

    async def test_what_cannot_be_posted_is_refused(self, harness: Harness) -> None:
        wrong = [
            *(Post(kind=STACK, name=name, at=1.0) for name in ("", "a\n", "a\0", "\ud800", "x" * 201)),
            Post(kind=STACK, name="m", at=float("nan")),
            Post(kind=STACK, name="m", at=1.0, until=float("inf")),
            Post(kind=STACK, name="m", at=1.0, by="\ud800"),
        ]
        for post in wrong:
            with pytest.raises(BadArgument, match="nothing was posted"):
                await harness.state.board.post(post)
        assert await harness.state.board.read() == Notices()

    async def test_posts_outlive_the_connection(self, harness: Harness) -> None:
        post = Post(kind=SCHEDULE, name="nightly", at=1.0, by="ada")
        await harness.state.board.post(post)
        await harness.reopen()
        assert await _posts(harness) == (post,)
        assert await harness.state.board.post(post) is False
        assert await harness.state.board.withdraw(SCHEDULE, "nightly") is True

    async def test_a_twin_reads_the_same_board(self, harness: Harness) -> None:
        post = Post(kind=SCHEDULE, name="nightly", at=1.0)
        await harness.state.board.post(post)
        twin = harness.state.twin()
        if twin is harness.state:
            return
        await twin.open()
        try:
            assert await _withdrawn_by(twin) == (post,)
        finally:
            await twin.close()
        assert await _posts(harness) == ()


async def _withdrawn_by(twin: State) -> tuple[Post, ...]:
    told = (await twin.board.read()).posts
    assert await twin.board.withdraw(SCHEDULE, "nightly") is True
    return told


async def _posts(harness: Harness) -> tuple[Post, ...]:
    return (await harness.state.board.read()).posts


async def _pass(harness: Harness, seconds: float) -> None:
    """Time passes, and the state hears of it."""
    await harness.advance(seconds, sweeping=False)
    await harness.state.board.read()
