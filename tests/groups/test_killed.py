"""A group whose processes are killed between any two steps: every member counts once, and what follows runs once."""

from collections.abc import Awaitable, Callable

import pytest
from tests.groups.world import Death, Killed, World

from tenure.client.group_sending import GroupClient
from tenure.errors import BrokerUnavailable
from tenure.group import GroupState, MemberState
from tenure.groups.header import SUBMIT_SECONDS
from tenure.message import MessageState

LATE = pytest.mark.parametrize("late", [False, True], ids=["before", "after"])


async def killed(death: Death, act: Callable[[], Awaitable[object]]) -> None:
    """Do it, until death comes."""
    try:
        await act()
    except (Killed, BrokerUnavailable):
        assert death.taken >= death.step


async def settled(world: World) -> list[str]:
    """Let another process bring everything to its end; what ran there."""
    other = world.process()
    for _ in range(3):
        await other.announce()
        await other.keeper.look()
        await world.advance(61.0)
    await world.end(100)
    await other.announce()
    return await world.last()


@LATE
@pytest.mark.parametrize("error", [Killed, BrokerUnavailable], ids=["killed", "cut off"])
@pytest.mark.parametrize("step", range(1, 9))
async def test_an_announcer_killed_at_any_step_runs_then_once(
    world: World, step: int, late: bool, error: type[BaseException]
) -> None:
    await world.process().submit(4)
    await world.end(2)
    await world.end(1, MessageState.DEAD)
    await world.end(1, MessageState.CANCELLED)
    death = Death(step, late=late, error=error)
    await killed(death, world.process(death).announce)
    assert death.taken >= min(step, 6), "fewer steps than this test kills at"
    ran = await world.last()
    assert await settled(world) + ran == ["grp_7-then"]
    result = await world.result()
    assert result.state is GroupState.COMPLETE
    assert sorted(one.state for one in result.members) == sorted(
        [MemberState.COMPLETED, MemberState.COMPLETED, MemberState.DEAD, MemberState.CANCELLED]
    )
    assert await world.pending() == 0


@LATE
@pytest.mark.parametrize("step", range(1, 7))
async def test_a_keeper_killed_at_any_step_ends_the_group_once(world: World, step: int, late: bool) -> None:
    await world.process().submit(3, expires=120.0)
    await world.end(1)
    await world.process().announce()
    await world.advance(121.0)
    death = Death(step, late=late)
    await killed(death, world.process(death).keeper.look)
    assert death.taken >= min(step, 5)
    ran = await world.last()
    assert await settled(world) + ran == ["grp_7-then"]
    progress = await world.progress()
    assert (progress.state, progress.completed, progress.unfinished) == (GroupState.EXPIRED, 1, 2)


@LATE
@pytest.mark.parametrize("step", range(1, 8))
async def test_a_cancel_killed_at_any_step_is_whole_or_not_there(world: World, step: int, late: bool) -> None:
    await world.process().submit(3)
    death = Death(step, late=late)
    dying = world.process(death)
    handle = await world.process().submit(3)
    assert handle.duplicate
    await killed(death, lambda: GroupClient(dying.client).cancel("7"))
    if (await world.progress()).state is GroupState.RUNNING:
        assert await settled(world) == ["grp_7-then"]
        return
    assert await settled(world) == []
    assert (await world.progress()).state is GroupState.CANCELLED
    for place in range(3):
        assert await world.state_of(f"grp_7-{place}") is MessageState.CANCELLED


@LATE
@pytest.mark.parametrize("step", range(1, 8))
async def test_a_submission_killed_at_any_step_goes_on_under_its_id(world: World, step: int, late: bool) -> None:
    death = Death(step, late=late)
    await killed(death, lambda: world.process(death).submit(5))
    await world.end(2)  # of those that were sent
    await world.process().announce()
    await world.process().submit(5)
    await world.end(10)
    other = world.process()
    await other.announce()
    assert await world.last() == ["grp_7-then"]
    progress = await world.progress()
    assert (progress.state, progress.completed) == (GroupState.COMPLETE, 5)
    assert len(await world.lease(world.stranger(), 10, queues=("thumbs",))) == 0, "a member was sent twice"


@pytest.mark.parametrize(("step", "late"), [(2, False), (2, True), (3, False), (3, True), (4, False)])
async def test_a_submission_that_nobody_finishes_is_taken_back(world: World, step: int, late: bool) -> None:
    death = Death(step, late=late)
    await killed(death, lambda: world.process(death).submit(5))
    await world.advance(SUBMIT_SECONDS - 60.0)
    await world.process().keeper.look()
    await world.advance(120.0)
    await world.process().keeper.look()
    await world.process().announce()
    assert await world.end(10) == []
    assert await world.last() == []
    if (step, late) != (2, False):  # else nothing was there
        assert (await world.progress()).state is GroupState.ABANDONED
