"""Groups: what may be a member, what follows, and what people can ask."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from tests.groups.world import Process, World, publish, thumb

from tenure.broker import Sent
from tenure.client.group_sending import GroupClient
from tenure.config import Settings
from tenure.errors import BadArgument, GroupNotFound, MessageCancelled, QuotaExceeded, ResultTimeout, TaskFailed
from tenure.group import MOST_MEMBERS, GroupState, MemberState, result_limit
from tenure.groups.ended_log import EndedLog, Entry
from tenure.groups.header import KEPT_SECONDS
from tenure.key_value import MOST_BYTES
from tenure.message import Outgoing
from tenure.rules.group_id import group_id, group_of, member_id, place_of, then_id
from tenure.tasks.call import Call, Options
from tenure.verdict import Reason
from tenure.webhooks.assembly import Webhooks


@pytest.mark.parametrize("options", [{"key": "a"}, {"unique": True}, {"id": "a"}])
async def test_a_member_with_an_identity_of_its_own_is_refused(world: World, options: Options) -> None:
    with pytest.raises(BadArgument, match="Nothing was sent"):
        await world.process().submit([thumb.bind(1), thumb.bind(2).having(**options)])
    assert await world.end(5) == []
    assert await GroupClient(world.process().client).progress("7") is None


async def test_a_group_has_a_bounded_number_of_members(world: World) -> None:
    call = thumb.bind(1)
    with pytest.raises(BadArgument, match="10,000"):
        await world.process().submit([call] * (MOST_MEMBERS + 1))


async def test_a_group_without_members_ends_at_once(world: World) -> None:
    handle = await world.process().submit(0)
    assert (await handle.status()).state is GroupState.COMPLETE
    assert await world.last() == ["grp_7-then"]
    assert (await handle.result()).members == ()


async def test_what_follows_is_given_the_group_by_reference(world: World) -> None:
    await world.process().submit(1)
    await world.end(1)
    await world.process().announce()
    (lease,) = await world.lease(world.stranger(), queues=("albums",))
    message = msgspec.json.decode(lease.envelope)
    assert message["body"] == {"album": 7, "group": {"id": "grp_7"}}
    assert message["headers"] == {"tenure-group": "group"}
    assert message["correlation_id"] == "grp_7"


async def test_a_group_may_have_nothing_that_follows(world: World) -> None:
    groups = GroupClient(world.process().client)
    handle = await groups.submit([thumb.bind(1)], None, read=bytes, id=None, expires=None)
    await world.end(1)
    await world.process().announce()
    assert (await handle.result()).all_completed
    with pytest.raises(BadArgument, match="no `then`"):
        _ = handle.then


async def test_the_same_group_again_stores_nothing(world: World) -> None:
    first = await world.process().submit(3)
    second = await world.process().submit(3)
    assert (first.id, first.duplicate, second.id, second.duplicate) == ("grp_7", False, "grp_7", True)
    assert len(await world.end(10)) == 3
    with pytest.raises(BadArgument, match="another group"):
        await world.process().submit(4)


async def test_what_a_group_cannot_send_is_refused_before_anything_is_sent(world: World) -> None:
    huge: Call[int] = Call(publish, msgspec.Raw(b'{"album": "' + b"x" * MOST_BYTES + b'", "group": 1}'))
    with pytest.raises(BadArgument, match="nothing was sent"):
        await world.process().submit(2, then=huge)
    assert await world.end(5) == []


async def test_a_refusal_halfway_takes_the_group_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    process = world.process()
    send = process.client.send_made

    async def refusing(batch: Sequence[Outgoing]) -> list[Sent]:
        answers = await send(batch[:2])
        return [*answers, Sent("x", refusal=Reason("quota_exceeded", "2 wait; nothing was stored"))]

    monkeypatch.setattr(process.client, "send_made", refusing)
    with pytest.raises(QuotaExceeded) as caught:
        await process.submit(3)
    assert "taken back" in caught.value.__notes__[0]
    assert await world.end(5) == []
    assert (await world.progress()).state is GroupState.CANCELLED
    await world.process().announce()
    assert await world.last() == []


async def test_a_cancelled_group_runs_nothing_more(world: World) -> None:
    handle = await world.process().submit(3)
    (first,) = await world.end(1)
    await world.process().announce()
    assert await handle.cancel() is True
    assert await handle.cancel() is False
    result = await handle.result()
    assert result.state is GroupState.CANCELLED
    assert {one.id: one.state for one in result.members}[first] is MemberState.COMPLETED
    assert [one.state for one in result.failed] == [MemberState.UNFINISHED] * 2
    await world.process().announce()
    assert await world.end(5) == []
    assert await world.last() == []
    with pytest.raises(MessageCancelled, match="nothing follows"):
        await handle.then.result()


async def test_what_follows_is_waited_for_from_the_start(world: World) -> None:
    handle = await world.process().submit(1)
    with pytest.raises(ResultTimeout, match="0 of 1"):
        await handle.then.result(timeout=5)
    waiting = asyncio.create_task(handle.then.result(timeout=60))
    await world.end(1)
    await world.process().announce()
    await world.last()
    assert await waiting == 12


async def test_who_waits_too_short_is_told_how_far_it_is(world: World) -> None:
    handle = await world.process().submit(3)
    await world.end(1)
    await world.process().announce()
    with pytest.raises(ResultTimeout, match="1 of 3"):
        await handle.result(timeout=5)


async def test_an_unknown_group_is_not_found(world: World) -> None:
    handle = await world.process().submit(1)
    other = type(handle)(GroupClient(world.process().client), "grp_none")
    with pytest.raises(GroupNotFound):
        await other.status()
    with pytest.raises(GroupNotFound):
        await other.cancel()


async def test_a_result_that_is_too_large_stays_with_its_message(world: World) -> None:
    await world.process().submit(2)
    leases = await world.lease(world.stranger(), 2, queues=("thumbs",))
    await world.complete(leases[0], b'"%s"' % (b"x" * result_limit(2)))
    await world.complete(leases[1], b'"%s"' % (b"y" * (result_limit(2) - 2)))
    await world.process().announce()
    large, small = sorted((await world.result()).members, key=lambda one: one.id != leases[0].id)
    assert large.large_result == result_limit(2) + 2
    with pytest.raises(TaskFailed, match=r"app\.handle"):
        large.value()
    assert small.value(str) == "y" * (result_limit(2) - 2)


async def test_endings_of_a_forgotten_group_are_let_go(world: World) -> None:
    await world.process().submit(1, expires=60.0)
    await world.advance(60.0 + KEPT_SECONDS, sweeping=False)
    await world.end(1)
    await world.process().announce()
    assert await world.pending() == 0


@pytest.mark.parametrize(("many", "limit"), [(1, 16_384), (64, 16_384), (100, 10_485), (10_000, 1_024)])
def test_the_results_of_a_group_are_bounded(many: int, limit: int) -> None:
    assert result_limit(many) == limit


def test_ids_can_be_read_from_each_other() -> None:
    group = group_id("album-7", "prod")
    assert group == "prod/grp_album-7" == group_id(group, "prod")
    assert group_of(member_id(group, 42)) == group_of(then_id(group)) == group
    assert place_of(member_id(group, 42), group) == 42
    assert place_of(then_id(group), group) is None
    assert group_of("0199aabb") is None
    assert place_of("grp_other-1", group) is None


async def test_writers_at_once_keep_one_chain(world: World) -> None:
    many, wide = 400, "x" * 500
    entries = [Entry(n, MemberState.COMPLETED, msgspec.Raw(msgspec.json.encode([n, wide]))) for n in range(many)]
    logs = [EndedLog(world.state, "grp_1", many, kept_until=world.state.wall() + 60.0) for _ in range(4)]
    for start in range(0, many, 40):
        batch = entries[start : start + 40]
        await asyncio.gather(*(log.add(batch[place::2]) for place, log in zip((0, 1, 0, 1), logs, strict=True)))
    fresh = EndedLog(world.state, "grp_1", many, kept_until=world.state.wall() + 60.0)
    assert [one.place for one in await fresh.entries()] == list(range(many))
    ended = await fresh.read()
    assert (ended.counts.completed, ended.end) == (many, GroupState.COMPLETE)
    assert await fresh.missing() == []
    stored = await world.state.key_values.list("group-ended")
    assert len(stored) > 5
    assert max(len(one.data) for one in stored) <= MOST_BYTES


async def test_a_message_outside_of_groups_costs_them_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    process: Process = world.process()
    asked: list[str] = []
    for name in ("get", "put", "list", "remove"):
        monkeypatch.setattr(process.state.key_values, name, lambda *a, **b: asked.append(str(a)))
    await process.client.submit(thumb.bind(1), {})
    await world.end(1)
    await process.announce()
    assert asked == []


async def test_an_ending_may_be_for_a_group_and_for_a_webhook(world: World) -> None:
    process = world.process()
    hooks = Webhooks(world.broker, world.state, world.clock, Settings(secret_key="k" * 32))
    await hooks.endpoints.add("orders", "https://orders.example.com/hook")
    await process.submit([thumb.bind(1).having(webhook="orders")])
    await world.end(1)
    await process.announce()
    assert (await world.progress()).state is GroupState.COMPLETE
    assert (await world.depth("webhooks")).ready == 1
    assert await world.broker.announcements() == []
