"""Wall time: one clock that all who use a state agree on, whatever the clocks of their machines show."""

import pytest

from tenure.state import State
from tenure.testing.harness import QUEUE, Harness

HOUR = 3600.0
#: A clock that counts in seconds is known to about half of one.
NEAR = 0.6


class WallTime:
    """The promises of `State.wall`, and the finding about a machine whose clock is another."""

    async def test_it_is_unix_time(self, harness: Harness) -> None:
        assert harness.state.wall() == pytest.approx(harness.clock.wall(), abs=NEAR)

    async def test_it_goes_on(self, harness: Harness) -> None:
        before = harness.state.wall()
        await harness.advance(100.0, sweeping=False)
        await harness.state.board.read()
        assert harness.state.wall() - before == pytest.approx(100.0, abs=NEAR)

    async def test_it_goes_on_while_this_machine_sleeps(self, harness: Harness) -> None:
        before = harness.state.wall()
        harness.clock.suspend(HOUR)
        assert harness.state.wall() - before == pytest.approx(HOUR, abs=NEAR)

    async def test_setting_the_clock_of_this_machine_moves_it_only_if_it_is_that_clock(self, harness: Harness) -> None:
        expected = 0.0
        before = harness.state.wall()
        for jump in (HOUR, -2 * HOUR):
            await harness.move_wall(jump)
            expected += 0.0 if harness.has_own_clock else jump
            await harness.state.board.read()
            assert harness.state.wall() - before == pytest.approx(expected, abs=NEAR)

    async def test_a_twin_tells_the_same(self, harness: Harness) -> None:
        await harness.move_wall(HOUR)
        await harness.state.board.read()
        assert await _wall_of_twin(harness.state) == pytest.approx(harness.state.wall(), abs=NEAR)

    async def test_a_clock_that_differs_by_more_than_two_seconds_is_a_finding(self, harness: Harness) -> None:
        assert await _skew(harness) == []
        for jump, side in ((HOUR, "3600.0 s ahead of"), (-2 * HOUR, "3600.0 s behind")):
            await harness.move_wall(jump)
            found = await _skew(harness)
            assert [side in one for one in found] == ([True] if harness.has_own_clock else []), found
        await harness.move_wall(HOUR + 1.3)
        assert await _skew(harness) == []


async def _skew(harness: Harness) -> list[str]:
    await harness.state.board.read()
    await harness.put()  # the queue is there
    return [one.evidence for one in await harness.broker.check([QUEUE]) if one.id == "clock_skew"]


async def _wall_of_twin(state: State) -> float:
    twin = state.twin()
    if twin is state:
        return twin.wall()
    await twin.open()
    try:
        return twin.wall()
    finally:
        await twin.close()
