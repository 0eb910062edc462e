"""Workers drained, stopped and told apart by name; what an older or another version writes."""

import msgspec
import pytest

from tenure import Tenure
from tenure.client.operations.workers import WorkerStatus
from tenure.errors import AmbiguousId, BadArgument, WorkerGone, WorkerShared
from tenure.key_value import MOST_NAME, name_of
from tenure.notice import PostKind
from tenure.owner import Owner
from tenure.testing import Kit
from tenure.worker_report import REPORT_KIND, WorkerReport, decoded, encoded


@pytest.fixture
def tenure_app() -> Tenure:
    return Tenure("memory://")


async def _join(kit: Kit, name: str, nonce: str, *queues: str) -> str:
    owner = Owner(name, nonce, queues=queues)
    await kit.app.state.roster.join(owner)
    return owner.id


async def _report(kit: Kit, id: str, data: bytes) -> None:
    await kit.app.state.key_values.put(REPORT_KIND, name_of(id), data, expect=None)


async def _status(kit: Kit, id: str) -> WorkerStatus:
    return next(one for one in (await kit.operate.workers()).workers if one.id == id)


async def test_a_name_means_its_only_worker_and_an_id_always_one(kit: Kit) -> None:
    first, _ = await _join(kit, "w", "1", "a"), await _join(kit, "w", "2", "a")
    other = await _join(kit, "v", "3", "a")
    assert (await kit.operate.drain_worker("v")).id == other
    with pytest.raises(AmbiguousId, match=r"2 workers are named 'w' \(w/1, w/2\)"):
        await kit.operate.stop_worker("w")
    assert (await kit.operate.stop_worker(first)).changed
    with pytest.raises(WorkerGone, match="there is no worker 'u'"):
        await kit.operate.drain_worker("u")


async def test_who_does_not_see_all_queues_of_a_worker_cannot_have_it_leave(kit: Kit) -> None:
    own, shared = (
        await _join(kit, "own", "1", "acme-tasks", "acme-*"),
        await _join(kit, "shared", "2", "acme-tasks", "beta"),
    )
    foreign = await _join(kit, "foreign", "3", "umbrella-tasks")
    acme = kit.operate.bound(by="acme", queues=["acme-*"])
    assert (await acme.drain_worker(own)).changed
    with pytest.raises(WorkerShared, match="also serves queues that your token does not cover"):
        await acme.drain_worker(shared)
    with pytest.raises(WorkerGone):
        await acme.drain_worker(foreign)
    assert [post.name for post in (await kit.app.state.board.read()).posts] == [own]


async def test_an_older_worker_tells_nothing_and_a_newer_one_more_than_is_known(kit: Kit) -> None:
    old, new, strange = [await _join(kit, "w", nonce, "a") for nonce in "123"]
    newer = {**msgspec.to_builtins(WorkerReport(at=1.0, version="9.9", rate_per_minute=3.0)), "mood": "good"}
    await _report(kit, new, msgspec.json.encode(newer))
    await _report(kit, strange, b'{"at": "today"}')
    for id in (old, strange):
        status = await _status(kit, id)
        unknown = (status.version, status.cpu_percent, status.memory_bytes, status.draining, status.rate_per_minute)
        assert (unknown, status.leaving) == ((None,) * 5, "")
    status = await _status(kit, new)
    assert (status.version, status.draining, status.draining_since, status.rate_per_minute) == ("9.9", False, None, 3.0)
    assert (await kit.operate.drain_worker(old)).version is None
    assert decoded(encoded(WorkerReport(at=1.0))) == WorkerReport(at=1.0)


async def test_one_that_drains_already_is_not_asked_again_and_one_that_stops_does_not_drain(kit: Kit) -> None:
    drains, stops = await _join(kit, "d", "1", "a"), await _join(kit, "s", "2", "a")
    await _report(kit, drains, encoded(WorkerReport(at=1.0, leaving_since=1.0, leaving="drained by ada (cli)")))
    await _report(kit, stops, encoded(WorkerReport(at=1.0, leaving_since=1.0, leaving="stopped by ada (cli)")))
    assert not (await kit.operate.drain_worker(drains)).changed
    assert not (await kit.operate.drain_worker(stops)).changed
    assert not (await kit.operate.stop_worker(stops)).changed
    assert (await kit.operate.stop_worker(drains)).changed
    (post,) = (await kit.app.state.board.read()).posts
    assert (post.kind, post.name) == (PostKind.STOP_WORKER, drains)
    assert post.until is not None


async def test_a_long_name_of_a_worker_and_of_who_asks_can_be_posted(kit: Kit) -> None:
    long = await _join(kit, "w" * 300, "1", "a")
    assert (await kit.operate.bound(by="ä" * 300).drain_worker(long)).changed
    (post,) = (await kit.app.state.board.read()).posts
    assert (len(post.name) <= MOST_NAME, len(post.by)) == (True, MOST_NAME)


async def test_a_namespace_bounds_whom_an_app_can_have_leave() -> None:
    app = Tenure("memory://", namespace="shop")
    async with app:
        for nonce, queues in (("1", ("shop/a",)), ("2", ("shop/*",)), ("3", ("shop/a", "b")), ("4", ("other/a",))):
            await app.state.roster.join(Owner("w", nonce, queues=queues))
        assert (await app.operate.drain_worker("w/1")).changed
        assert (await app.operate.drain_worker("w/2")).changed
        with pytest.raises(WorkerShared):
            await app.operate.drain_worker("w/3")
        with pytest.raises(WorkerGone):
            await app.operate.drain_worker("w/4")


async def test_timing_and_scaling_are_bounded_and_paged(kit: Kit) -> None:
    app = kit.app
    for number in range(5):
        app.task(name=f"t{number}", queue=f"q{number}")(_nothing)
        await app.submit(f"t{number}", {})
    first = await kit.operate.timing(limit=3)
    assert ([row.task for row in first.tasks], first.after) == (["t0", "t1", "t2"], "q2 t2")
    rest = await kit.operate.timing(limit=3, after=first.after or "")
    assert ([row.task for row in rest.tasks], rest.after) == (["t3", "t4"], None)
    assert [row.queue for row in (await kit.operate.timing("q*", "t1")).tasks] == ["q1"]
    page = await kit.operate.scaling(limit=2)
    assert ([row.queue for row in page.queues], page.after) == (["q0", "q1"], "q1")
    page = await kit.operate.scaling(limit=9, after="q1", target_age_seconds=5.0)
    assert ([row.queue for row in page.queues], page.after, page.target_age_seconds) == (["q2", "q3", "q4"], None, 5.0)
    with pytest.raises(BadArgument):
        await kit.operate.timing(limit=501)
    acme = kit.operate.bound(by="x", queues=["q1", "q2"])
    assert [row.queue for row in (await acme.timing()).tasks] == ["q1", "q2"]
    assert [row.queue for row in (await acme.scaling()).queues] == ["q1", "q2"]


async def test_scaling_asks_for_no_worker_that_the_limit_of_the_queue_cannot_use(kit: Kit) -> None:
    kit.app.task(name="slow", queue="slow", profile="site-publisher", concurrency=1, running=2)(_nothing)
    for _ in range(9):
        await kit.app.submit("slow", {})
    (row,) = (await kit.operate.scaling(queue="slow")).queues
    assert row.desired == 2
    assert row.why.endswith("; the queue's limit, 2 running, can use 2")
    await kit.operate.limit("slow", running=5)
    (row,) = (await kit.operate.scaling(queue="slow")).queues
    assert (row.desired, row.visible_only) == (5, 5)
    await kit.operate.limit("slow", rate="2/m")
    (row,) = (await kit.operate.scaling(queue="slow")).queues
    assert row.desired == 3  # 90 s each, two of them a minute


async def _nothing() -> None: ...
