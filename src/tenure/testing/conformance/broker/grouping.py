"""Grouping: members of a group are entered as a set, and what follows them is sent once, wherever it broke off."""

import asyncio
from typing import Any

import msgspec

from tenure import envelope
from tenure.announcement import Announcement
from tenure.group import GroupResult, GroupState, MemberState
from tenure.groups.assembly import Groups
from tenure.groups.header import SUBMIT_SECONDS, Header, Then
from tenure.groups.reading import GroupReading
from tenure.message import MessageState
from tenure.rules.group_id import member_id, then_id
from tenure.settlement import DeadLetter
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

#: Where the message at the end goes.
LAST_QUEUE = "albums"
_GROUP = "grp_7"
_DAY = 86_400.0


class Grouping:
    """The promises of groups, on a store's announcements and key-values."""

    async def test_with_the_last_member_one_message_is_sent(self, harness: Harness) -> None:
        groups = await _submit(harness, 3)
        await _complete(harness, 2)
        await _announce(harness, groups)
        assert (await _progress(harness)).state is GroupState.RUNNING
        assert await _sent(harness) == 0
        await _complete(harness, 1)
        await _announce(harness, groups)
        assert (await _progress(harness)).state is GroupState.COMPLETE
        assert await _sent(harness) == 1

    async def test_results_are_handed_over_by_id(self, harness: Harness) -> None:
        groups = await _submit(harness, 3)
        for lease in await _leased(harness, 3):
            await harness.complete(lease, msgspec.json.encode({"of": lease.id}))
        await _announce(harness, groups)
        result = await _result(harness)
        assert [one.id for one in result.members] == [member_id(_GROUP, place) for place in range(3)]
        assert [one.value() for one in result.members] == [{"of": one.id} for one in result.members]

    async def test_a_member_that_is_dead_or_cancelled_has_ended(self, harness: Harness) -> None:
        groups = await _submit(harness, 3)
        (lease,) = await _leased(harness, 1)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        left = [member_id(_GROUP, place) for place in range(3) if member_id(_GROUP, place) != lease.id]
        await harness.broker.cancel([left[0]], QUEUE)
        await _complete(harness, 1)
        await _announce(harness, groups)
        result = await _result(harness)
        assert result.state is GroupState.COMPLETE
        assert result[lease.id].state is MemberState.DEAD
        assert result[lease.id].reason is not None
        assert result[lease.id].reason.code == BROKEN.code  # type: ignore[union-attr]
        assert (result[left[0]].state, result[left[1]].state) == (MemberState.CANCELLED, MemberState.COMPLETED)

    async def test_a_repeated_announcement_changes_nothing(self, harness: Harness) -> None:
        groups = await _submit(harness, 2)
        await _complete(harness, 1)
        page = await _page(harness)
        for _ in range(3):
            await groups.kind.begin(page)
        assert (await _progress(harness)).completed == 1
        await _complete(harness, 1)
        await groups.kind.begin(await _page(harness))
        await _groups(harness).kind.begin(await _page(harness))
        assert (await _progress(harness)).completed == 2
        assert await _sent(harness) == 1

    async def test_two_announcers_at_once_lose_no_member(self, harness: Harness) -> None:
        await _submit(harness, 8)
        await _complete(harness, 8)
        page = await _page(harness)
        assert len(page) == 8
        both = [_groups(harness) for _ in range(4)]
        await asyncio.gather(*(one.kind.begin(page[place::4]) for place, one in enumerate(both)))
        progress = await _progress(harness)
        assert (progress.state, progress.completed) == (GroupState.COMPLETE, 8)
        assert await _sent(harness) == 1

    async def test_a_redriven_member_does_not_reopen_it(self, harness: Harness) -> None:
        groups = await _submit(harness, 1)
        (lease,) = await _leased(harness, 1)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await _announce(harness, groups)
        await harness.broker.redrive([lease.id], QUEUE)
        await _complete(harness, 1)
        await _announce(harness, groups)
        assert (await _result(harness)).members[0].state is MemberState.DEAD
        assert await _sent(harness) == 1

    async def test_when_its_time_is_over_the_rest_is_cancelled(self, harness: Harness) -> None:
        groups = await _submit(harness, 3, expires_in=-1.0)
        await _complete(harness, 1)
        await _announce(harness, groups)
        assert await groups.keeper.look() == 1
        result = await _result(harness)
        states = sorted(one.state for one in result.members)
        assert result.state is GroupState.EXPIRED
        assert states == [MemberState.COMPLETED, MemberState.UNFINISHED, MemberState.UNFINISHED]
        for one in result.failed:
            assert await harness.state_of(one.id) is MessageState.CANCELLED
        await _announce(harness, groups)
        assert (await _progress(harness)).cancelled == 0, "what ends after the group changes nothing"
        assert await groups.keeper.look() == 0
        assert await _sent(harness) == 1

    async def test_an_unfinished_submission_is_taken_back(self, harness: Harness) -> None:
        groups = await _submit(harness, 3, send=2, submitted=False, age=SUBMIT_SECONDS + 1)
        await groups.keeper.look()
        assert (await _progress(harness)).state is GroupState.ABANDONED
        for place in range(2):
            assert await harness.state_of(member_id(_GROUP, place)) is MessageState.CANCELLED
        assert await _sent(harness) == 0

    async def test_a_group_is_as_large_as_many_documents(self, harness: Harness) -> None:
        many = 24
        groups = await _submit(harness, many)
        left = many
        while left:
            (lease,) = await _leased(harness, 1)
            await harness.complete(lease, msgspec.json.encode([lease.id, "x" * 3_000]))
            left -= 1
            if left == many // 2:
                await _announce(harness, groups)
                assert (await _progress(harness)).completed == many - left
                groups = _groups(harness)  # another process goes on
        await _announce(harness, groups)
        assert (await _progress(harness)).completed == many
        assert [one.value()[0] for one in (await _result(harness)).members] == [
            member_id(_GROUP, place) for place in range(many)
        ]
        assert await _sent(harness) == 1


def _groups(harness: Harness) -> Groups:
    """Those of another process."""

    async def cancel(ids: Any, queue: str | None) -> object:
        return await harness.broker.cancel(ids, queue)

    return Groups(harness.broker, harness.state, harness.broker.send, cancel)


async def _submit(
    harness: Harness, many: int, *, send: int | None = None, submitted: bool = True, age: float = 0.0,
    expires_in: float = _DAY,
) -> Groups:  # fmt: skip
    """A group, and its members in the queue."""
    groups, wall = _groups(harness), harness.state.wall()
    last = harness.message(id=then_id(_GROUP), queue=LAST_QUEUE, key=then_id(_GROUP), task=TASK)
    then = Then(last.id, TASK, msgspec.Raw(envelope.encode(last)))
    header = Header(
        id=_GROUP, total=many, created_at=wall - age, expires_at=wall + expires_in, digest="", queues=(QUEUE,),
        then=then, submitted=submitted,
    )  # fmt: skip
    assert await groups.headers.create(header)
    assert not await groups.headers.create(header), "a group is created once"
    members = [
        harness.message(id=member_id(_GROUP, place), announce=(f"group:{_GROUP}",))
        for place in range(many if send is None else send)
    ]
    limit = harness.traits.batch_limit
    for start in range(0, len(members), limit):
        await harness.send(*members[start : start + limit])
    return groups


async def _leased(harness: Harness, want: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < want:
        found += await harness.lease(harness.stranger(), want - len(found))
    return found


async def _complete(harness: Harness, many: int) -> None:
    for lease in await _leased(harness, many):
        await harness.complete(lease, b"1")


async def _page(harness: Harness) -> list[tuple[Announcement, str]]:
    """What waits to be announced."""
    return [(one, target) for one in await harness.broker.announcements() for target in one.targets]


async def _announce(harness: Harness, groups: Groups) -> None:
    """As an announcer does."""
    page = await _page(harness)
    await groups.kind.begin(page)
    await harness.broker.announced([one for one, _ in page])


async def _progress(harness: Harness) -> Any:
    return await GroupReading(_groups(harness).headers).progress(_GROUP)


async def _result(harness: Harness) -> GroupResult:
    found = await GroupReading(_groups(harness).headers).result(_GROUP)
    assert found is not None
    return found


async def _sent(harness: Harness) -> int:
    """How many messages were sent at the end, since it was asked last."""
    leases = await harness.lease(harness.stranger("last"), 10, queues=(LAST_QUEUE,))
    for lease in leases:
        assert lease.id == then_id(_GROUP)
        await harness.complete(lease, b"1")
    return len(leases)
