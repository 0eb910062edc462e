"""A delayed message runs now, a running one gets more time, and what a handler handed on is found."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.places import place_for

from tenure import Context, Retry, Tenure
from tenure.broker import Promoted
from tenure.client.operations.acts import ActEntry
from tenure.client.operations.children import MOST_CHILDREN
from tenure.config import Settings
from tenure.errors import BadArgument, MessageNotFound, NotDelayed, NotPromotable, NotRunning
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.message import Counters, MessageState
from tenure.rules.handoff_id import handoff_id
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing import Kit
from tenure.verdict import Reason


@pytest.fixture
def tenure_app() -> Tenure:
    return _app("memory://")


def _app(url: str, **more: Any) -> Tenure:
    app = Tenure(url, settings=Settings(max_attempts=2), **more)

    @app.task
    async def resize(ctx: Context, image: str) -> str:
        if image == "later" and ctx.attempt == 1:
            raise Retry(after=timedelta(hours=1))
        if image == "bad":
            raise ValueError
        return image

    @app.task(queue="albums")
    async def album(ctx: Context, pictures: int, keyed: int = -1) -> None:
        for number in range(pictures):
            call = resize.bind(f"{number}")
            ctx.submit(call.having(key="the same") if number == keyed else call)

    return app


# -- run now -----------------------------------------------------------------------------------------


async def test_a_delayed_message_runs_now(kit: Kit) -> None:
    handle = await kit.app.submit("resize", {"image": "a"}, delay=3600)
    done = await kit.operate.run_now(handle.id[:20])
    assert (done.id, done.queue, done.was, done.changed) == (handle.id, "default-tasks", MessageState.DELAYED, True)
    assert done.paused is None
    await kit.drain()
    assert await handle.result(timeout=1) == "a"
    acts = (await kit.operate.acts()).acts
    assert [(act.kind, act.ids, act.count, act.queue) for act in acts] == [
        ("promoted", (handle.id,), 1, "default-tasks")
    ]
    assert {step.what for step in (await kit.operate.message(handle.id)).life} == {"sent", "promoted", "completed"}


async def test_one_that_waits_for_its_retry_runs_now(kit: Kit) -> None:
    lease = await _hold(kit.app, "a")
    await kit.app.broker.nack([Nack(lease, 3600.0, Reason("handler_error", "no"))])
    assert (await kit.operate.run_now(lease.id)).changed
    before = kit.app.clock.monotonic()
    await kit.drain()
    assert await kit.app.handle(lease.id).result(timeout=1) == "a"
    assert kit.app.clock.monotonic() - before < 60
    assert (await kit.operate.message(lease.id)).counters == Counters(deliveries=2, attempts=1)


async def test_one_that_is_ready_stays_as_it_is(kit: Kit) -> None:
    handle = await kit.app.submit("resize", {"image": "a"})
    await kit.operate.pause("default-tasks")
    done = await kit.operate.run_now(handle.id)
    assert (done.was, done.changed) == (MessageState.READY, False)
    assert done.paused is not None
    assert [act.kind for act in (await kit.operate.acts()).acts] == ["paused"]


async def test_what_runs_is_dead_or_has_ended_is_refused(kit: Kit) -> None:
    held = (await _hold(kit.app, "a")).id
    with pytest.raises(NotDelayed, match="runs already"):
        await kit.operate.run_now(held)
    cancelled = await kit.app.submit("resize", {"image": "b"}, delay=60)
    await cancelled.cancel()
    with pytest.raises(NotDelayed, match="has ended"):
        await kit.operate.run_now(cancelled.id)
    dead = await kit.app.submit("resize", {"image": "bad"})
    await kit.drain()
    with pytest.raises(NotDelayed, match="dead letter"):
        await kit.operate.run_now(dead.id)
    with pytest.raises(MessageNotFound, match="nothing was changed"):
        await kit.operate.run_now("f" * 32)
    assert {act.kind for act in (await kit.operate.acts()).acts} == {"cancelled"}


async def test_another_ones_message_is_not_there(kit: Kit) -> None:
    handle = await kit.app.submit("resize", {"image": "a"}, delay=3600)
    stranger = kit.operate.bound(by="eve", queues=["other-*"])
    with pytest.raises(MessageNotFound):
        await stranger.run_now(handle.id)
    with pytest.raises(MessageNotFound):
        await stranger.touch(handle.id)
    with pytest.raises(MessageNotFound):
        await stranger.children(handle.id)
    assert (await handle.status()).state == MessageState.DELAYED


async def test_a_message_that_the_queue_cannot_show_early_stays_delayed(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def refuse(ids: list[str], _queue: str | None = None) -> list[Promoted]:
        return [Promoted(MessageState.DELAYED, "it stays delayed")] * len(ids)

    handle = await kit.app.submit("resize", {"image": "a"}, delay=3600)
    monkeypatch.setattr(kit.app.broker, "promote", refuse)
    with pytest.raises(NotPromotable, match="it stays delayed"):
        await kit.operate.run_now(handle.id)
    assert (await kit.operate.acts()).acts == ()


# -- touch -------------------------------------------------------------------------------------------


async def _hold(app: Tenure, image: str, seconds: float = 30.0) -> Lease:
    await app.submit("resize", {"image": image})
    (lease,) = await app.broker.lease(LeaseRequest("somebody/00", f"r-{image}", ("default-tasks",), 1, seconds))
    return lease


async def test_a_lease_is_given_more_time(kit: Kit) -> None:
    lease = await _hold(kit.app, "a")
    touched = await kit.operate.bound(by="ada", triggered_by="cli").touch(lease.id[:20], seconds=120)
    assert (touched.id, touched.queue, touched.owner) == (lease.id, "default-tasks", "somebody/00")
    assert (touched.state, touched.deadline_in) == (LeaseState.HELD, 120.0)
    assert touched.deadline == pytest.approx(kit.app.clock.wall() + 120)
    (held,) = (await kit.operate.leases()).leases
    assert (held.deadline_in, held.owner, held.beats) == (120.0, "somebody/00", 1)
    (act,) = (await kit.operate.acts()).acts
    assert isinstance(act, ActEntry)
    assert (act.kind, act.by, act.ids) == ("touched", "ada", (lease.id,))
    assert act.data == {"seconds": 120, "holder": "somebody/00"}


async def test_without_seconds_it_gets_its_own_length(kit: Kit) -> None:
    lease = await _hold(kit.app, "a", seconds=40.0)
    await asyncio.sleep(25)
    assert (await kit.operate.touch(lease.id)).deadline_in == 40.0


async def test_a_touch_never_shortens(kit: Kit) -> None:
    lease = await _hold(kit.app, "a", seconds=300.0)
    touched = await kit.operate.touch(lease.id, seconds=10)
    assert touched.deadline_in == pytest.approx(300.0, abs=0.1)


async def test_what_nobody_holds_is_not_touched(kit: Kit) -> None:
    ready = await kit.app.submit("resize", {"image": "ready"}, delay=5)
    with pytest.raises(NotRunning, match="it is delayed"):
        await kit.operate.touch(ready.id)
    lease = await _hold(kit.app, "a")
    await kit.app.broker.ack([Ack(lease)])
    with pytest.raises(NotRunning, match="it is completed"):
        await kit.operate.touch(lease.id, seconds=60)
    assert (await kit.operate.acts()).acts == ()


async def test_a_lease_that_ends_while_it_is_looked_up_is_not_touched(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await _hold(kit.app, "a")
    find = kit.app.broker.find

    async def too_late(*words: Any) -> Lease | None:
        found = await find(*words)
        await kit.app.broker.ack([Ack(lease)])
        return found

    monkeypatch.setattr(kit.app.broker, "find", too_late)
    with pytest.raises(NotRunning, match="it ended a moment ago"):
        await kit.operate.touch(lease.id, seconds=60)
    assert (await kit.operate.acts()).acts == ()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 8 * 86_400.0])
async def test_no_lease_lasts_so_long(kit: Kit, seconds: float) -> None:
    lease = await _hold(kit.app, "a")
    with pytest.raises(BadArgument, match="nothing was changed"):
        await kit.operate.touch(lease.id, seconds=seconds)


# -- children ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 11])
async def test_all_that_was_handed_on_is_found(kit: Kit, count: int) -> None:
    handle = await kit.app.submit("album", {"pictures": count})
    assert (await kit.operate.children(handle.id)).children == ()
    await kit.drain()
    found = await kit.operate.children(handle.id)
    assert (found.id, len(found.children), found.more) == (handle.id, count, False)
    assert {(one.queue, one.task, one.state) for one in found.children} <= {
        ("default-tasks", "resize", MessageState.COMPLETED)
    }
    for number, one in enumerate(found.children):
        assert await kit.app.handle(one.id).result(timeout=1) == f"{number}"


async def test_a_hand_off_for_which_another_message_stands_hides_no_others(kit: Kit) -> None:
    await kit.app.submit("resize", {"image": "1"}, key="the same")
    handle = await kit.app.submit("album", {"pictures": 4, "keyed": 1})
    await kit.drain()
    found = [await kit.app.handle(one.id).result(timeout=1) for one in (await kit.operate.children(handle.id)).children]
    assert found == ["0", "2", "3"]


async def test_many_are_listed_up_to_a_bound(kit: Kit) -> None:
    handle = await kit.app.submit("album", {"pictures": MOST_CHILDREN + 5})
    await kit.drain()
    found = await kit.operate.children(handle.id)
    assert (len(found.children), found.more) == (MOST_CHILDREN, True)


async def test_what_a_redriven_message_handed_on_is_found(kit: Kit) -> None:
    handle = await kit.app.submit("album", {"pictures": -1})
    (lease,) = await kit.app.broker.lease(LeaseRequest("somebody/00", "r", ("albums",), 1, 30.0))

    await kit.app.broker.dead_letter([DeadLetter(lease, Reason("rejected", "no"))])
    await kit.operate.redrive([handle.id])
    await kit.drain()
    assert (await kit.operate.children(handle.id)).children == ()
    record = await kit.app.state.records.get(handle.id)
    assert record is not None
    assert record.envelope is None
    # As if its handler had handed one on in its second generation.
    id = handoff_id(handle.id, record.sent_at or 0.0, 1, 0)
    await kit.app.submit("resize", {"image": "x"}, id=id)
    (child,) = (await kit.operate.children(handle.id)).children
    assert child.id == id


def test_the_ids_of_hand_offs_never_change() -> None:
    """They lie in stores, and a repeated run of another version must name the same message."""
    assert handoff_id("019b75d1f8a04c1f9e2b7d3a5c6e8f01", 1767225600.5, 0, 3) == "019b75d1f8a0df74b4d15ca2b56d4285"


# -- real stores -------------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["sqlite", "valkey9"])
async def test_on_a_real_store(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One app looks and acts from outside, as another process would; the other has the worker."""
    url = place_for(kind, tmp_path, monkeypatch).url
    app, outside = _app(url), Tenure(url)
    go_on = asyncio.Event()

    @app.task(lease=3)
    async def wait(ctx: Context) -> str:
        await go_on.wait()
        ctx.submit(app.tasks["album"].bind(0), delay=3600)
        return "done"

    async with app, outside, app.worker(name="one"):
        later = await app.submit("resize", {"image": "later"}, delay=3600)
        assert (await outside.operate.run_now(later.id)).changed
        async with asyncio.timeout(30):
            while (await later.status()).state != MessageState.DELAYED:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
        assert (await outside.operate.run_now(later.id)).changed
        assert await later.result(timeout=30) == "later"

        running = await wait.submit()
        async with asyncio.timeout(30):
            while (await running.status()).state != MessageState.LEASED:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
        touched = await outside.operate.touch(running.id, seconds=60)
        assert touched.deadline_in > 55
        await asyncio.sleep(4)  # its worker beats meanwhile
        (held,) = (await outside.operate.leases()).leases
        assert (held.owner, held.id) == (touched.owner, running.id)
        assert held.deadline_in > 50
        go_on.set()
        assert await running.result(timeout=30) == "done"
        (child,) = (await outside.operate.children(running.id)).children
        assert (child.queue, child.task, child.state) == ("albums", "album", MessageState.DELAYED)
        assert (await outside.operate.children(child.id)).parent_id == running.id
        with pytest.raises(NotRunning):
            await outside.operate.touch(running.id)
        kinds = [act.kind for act in (await outside.operate.acts()).acts]
        assert kinds == ["touched", "promoted", "promoted"]
