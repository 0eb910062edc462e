"""Turns: of many who could do something one does, and for a while only."""

import asyncio

from tenure.testing.harness import Harness

SECONDS = 5.0


class Turns:
    """The promises of `Board.take_turn`."""

    async def test_the_first_who_asks_has_the_turn(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        assert not await _asks(harness, "two")
        assert not await _asks(harness, "three")

    async def test_of_many_at_once_one_has_it(self, harness: Harness) -> None:
        for turn in range(3):
            answers = await asyncio.gather(*(_asks(harness, f"{turn}-{number}") for number in range(6)))
            assert sorted(answers) == [False] * 5 + [True]
            await harness.advance(SECONDS + 1, sweeping=False)

    async def test_whoever_has_it_renews_it_by_asking_again(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        for _ in range(3):
            await harness.advance(SECONDS - 1, sweeping=False)
            assert await _asks(harness, "one")
        await harness.advance(SECONDS - 1, sweeping=False)
        assert not await _asks(harness, "two")

    async def test_it_lapses_by_itself(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        await harness.advance(SECONDS + 0.1, sweeping=False)
        assert await _asks(harness, "two")

    async def test_whoever_let_it_lapse_does_not_have_it(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        await harness.advance(SECONDS + 0.1, sweeping=False)
        assert await _asks(harness, "two")
        assert not await _asks(harness, "one")

    async def test_whoever_has_it_may_give_it_up(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        assert await _asks(harness, "one", seconds=0.0)
        assert await _asks(harness, "two")
        assert not await _asks(harness, "one")

    async def test_asking_in_vain_does_not_prolong_it(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        for _ in range(4):
            await harness.advance(1.0, sweeping=False)
            assert not await _asks(harness, "two")
        await harness.advance(1.1, sweeping=False)
        assert await _asks(harness, "two")

    async def test_nobody_waits_longer_than_their_own_turn_would_be(self, harness: Harness) -> None:
        assert await _asks(harness, "one", seconds=3600.0)
        assert await _asks(harness, "two")

    async def test_turns_of_other_things_are_apart(self, harness: Harness) -> None:
        assert await _asks(harness, "one")
        assert await _asks(harness, "two", name="tidy")
        assert not await _asks(harness, "one", name="tidy")


async def _asks(harness: Harness, token: str, *, name: str = "sweep", seconds: float = SECONDS) -> bool:
    return await harness.state.board.take_turn(name, token, seconds)
