"""Groups with a real worker, from the call to what follows."""

from collections import Counter
from typing import Any

import pytest
from tests.groups.world import World, thumb

from tenure import GroupResult, SyncContext, TaskFailed, Tenure
from tenure.client.forgetting import Forgetting, Place
from tenure.errors import GroupNotFound
from tenure.group import MOST_MEMBERS, GroupState, MemberState
from tenure.groups.header import Headers
from tenure.message import MessageState
from tenure.settlement import Ack
from tenure.testing import Kit
from tenure.testing.virtual import VirtualClock

app = Tenure("memory://")
published: list[GroupResult] = []


@app.task(max_attempts=2)
async def shrink(number: int) -> int:
    if number == 3:
        raise ValueError("no picture")
    return number * 2


@app.task
async def publish(album: int, group: GroupResult) -> int:
    published.append(group)
    return album + len(group.failed)


@app.task
def publish_in_thread(ctx: SyncContext, group: GroupResult) -> list[int]:
    return sorted(group.values(int))


@app.task
async def tidy() -> str:
    return "tidied"


@pytest.fixture
def tenure_app() -> Tenure:
    published.clear()
    return app


async def test_what_follows_gets_every_member_in_the_order_of_the_calls(kit: Kit) -> None:
    group = await app.group([shrink.bind(n) for n in range(5)], then=publish.bind(70, GroupResult.later()))
    await kit.drain()
    assert await group.then.result() == 71
    (got,) = published
    assert [one.state for one in got.members] == [MemberState.COMPLETED] * 3 + [MemberState.DEAD, MemberState.COMPLETED]
    assert [one.value(int) for one in got.members if one.is_completed] == [0, 2, 4, 8]
    with pytest.raises(TaskFailed, match="no picture"):
        list(got.values())
    assert (await group.result()).members[3].reason == got.members[3].reason


@pytest.mark.parametrize("task", [shrink, publish])
async def test_a_worker_that_dies_changes_nothing(kit: Kit, task: Any) -> None:
    kit.crash_worker(task)
    group = await app.group([shrink.bind(n) for n in range(3)], then=publish.bind(1, GroupResult.later()))
    await kit.drain()
    assert await group.then.result() == 1
    assert len(kit.completed(publish)) == 1
    assert len(kit.sent(publish)) == 1


async def test_what_follows_may_run_in_a_thread_and_may_want_nothing(kit: Kit) -> None:
    first = await app.group([shrink.bind(n) for n in (2, 1)], then=publish_in_thread)
    second = await app.group([shrink.bind(1)], then=tidy)
    await kit.drain()
    assert await first.then.result() == [2, 4]
    assert await second.then.result() == "tidied"


async def test_a_group_that_expires_runs_what_follows_with_the_rest(kit: Kit) -> None:
    calls = [shrink.bind(1), shrink.bind(2).having(delay=86_400)]
    group = await app.group(calls, then=publish.bind(0, GroupResult.later()), expires=3600)
    await kit.advance(hours=2)
    await kit.drain()
    assert (await group.status()).state is GroupState.EXPIRED
    assert [one.state for one in published[0].members] == [MemberState.COMPLETED, MemberState.UNFINISHED]
    assert (await app.handle(published[0].members[1].id).status()).state is MessageState.CANCELLED


async def test_a_message_whose_group_was_forgotten_is_a_dead_letter(kit: Kit) -> None:
    group = await app.group([shrink.bind(1)], then=publish.bind(0, GroupResult.later()))
    headers = Headers(app.state)
    header = await headers.get(group.id)
    assert header is not None
    await headers.remove(header)
    payload = {"album": 1, "group": {"id": group.id, "state": "running"}}
    await app.submit("publish", payload, headers={"tenure-group": "group"})
    await kit.drain()
    (dead,) = kit.dead(publish)
    assert dead.reason is not None
    assert dead.reason.code == "group_gone"


async def test_operations_show_a_group_as_far_as_may_be_seen(kit: Kit) -> None:
    group = await app.group([shrink.bind(n) for n in (1, 3)], then=publish.bind(0, GroupResult.later()), id="7")
    await kit.drain()
    detail = await app.operate.group("7")
    assert (detail.completed, detail.dead, detail.then_id) == (1, 1, group.then.id)
    assert [one.id for one in detail.failed] == ["grp_7-1"]
    page = await app.operate.group_members("7", limit=1)
    assert ([one.id for one in page.members], page.more, page.after) == (["grp_7-0"], True, "0")
    rest = await app.operate.group_members("7", after=page.after or "", state=MemberState.DEAD)
    assert ([one.id for one in rest.members], rest.more) == (["grp_7-1"], False)
    member = await app.operate.message("grp_7-1")
    assert member.group is not None
    assert (member.group.id, member.group.failed, member.group.is_last) == ("grp_7", 1, False)
    last = await app.operate.message("grp_7-then")
    assert last.group is not None
    assert last.group.is_last
    blind = app.operate.bound(by="eve", sees_payload=False)
    reason = (await blind.group("7")).failed[0].reason
    assert reason is not None
    assert (reason.code, reason.text) == ("max_attempts", "")
    assert bytes((await blind.group_members("7")).members[0].result) == b"null"
    with pytest.raises(GroupNotFound):
        await app.operate.bound(by="eve", queues=["other"]).group("7")


async def test_a_client_that_is_forgotten_leaves_no_group(kit: Kit) -> None:
    group = await app.group([shrink.bind(1)], then=publish.bind(0, GroupResult.later()))
    await kit.drain()
    forgetting = Forgetting(app.broker, app.state, None, client="default", queue="default-tasks", namespace=None)
    place = await forgetting.step(Place("groups"))
    assert forgetting.removed["groups"] == 1
    assert place is not None
    with pytest.raises(GroupNotFound):
        await group.status()
    assert await app.state.key_values.list("group-ended") == []


async def test_ten_thousand_members_cost_few_writes(world: World, virtual_clock: VirtualClock) -> None:
    process = world.process()
    writes: Counter[str] = Counter()
    put = process.state.key_values.put

    async def counted(kind: str, name: str, data: bytes, **more: Any) -> Any:
        writes[kind] += 1
        return await put(kind, name, data, **more)

    process.state.key_values.put = counted  # type: ignore[method-assign]
    await process.submit([thumb.bind(1)] * MOST_MEMBERS)
    assert (writes["group"], writes["group-open"], writes["group-ended"]) == (2, 2, 0)
    left = MOST_MEMBERS
    while left:
        leases = await world.lease(world.stranger(), 1_000, queues=("thumbs",))
        await world.broker.ack([Ack(lease, b'{"width": 800}') for lease in leases])
        left -= len(leases)
    await process.announce()
    progress = await world.progress()
    assert (progress.state, progress.completed) == (GroupState.COMPLETE, MOST_MEMBERS)
    assert writes["group-ended"] <= 50
    assert await world.last() == ["grp_7-then"]
