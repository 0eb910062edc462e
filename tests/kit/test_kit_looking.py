"""What a kit tells of messages, and where the app is while one is open."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure import Context, Reject, Tenure, UnknownTask
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import ResultInvalid
from tenure.testing import Kit, KitError, VirtualClock


@dataclass
class Size:
    width: int
    height: int


async def test_completed_messages_tell_arguments_and_result(kit: Kit) -> None:
    @kit.app.task
    async def double(size: Size, times: int = 2) -> Size:
        return Size(size.width * times, size.height * times)

    handle = await kit.app.submit(double.bind(Size(1, 2)), correlation_id="c")
    await kit.drain()
    (done,) = kit.completed(double)
    assert done == kit.completed("double")[0] == kit.completed()[0]
    assert (done.id, done.task, done.arguments) == (handle.id, "double", {"size": {"width": 1, "height": 2}})
    assert (done.result, done.attempts, done.runs, done.reason) == (Size(2, 4), 1, 1, None)
    assert done.message is not None
    assert done.message.correlation_id == "c"


async def test_one_whose_result_is_not_of_its_type_is_completed_all_the_same(kit: Kit) -> None:
    """As in production; whoever looks at the result is told, and nobody before."""

    @kit.app.task
    async def promise() -> int:
        return None  # type: ignore[return-value]

    handle = await kit.app.submit(promise.bind())
    await kit.drain()
    (done,) = kit.completed(promise)
    assert (done.id, done.runs, done.result_json, kit.dead()) == (handle.id, 1, b"null", [])
    with pytest.raises(ResultInvalid, match="promise"):
        _ = done.result
    with pytest.raises(ResultInvalid, match="promise"):
        await handle.result()


async def test_dead_messages_tell_why(kit: Kit) -> None:
    @kit.app.task
    async def refuse(why: str) -> None:
        raise Reject(why)

    await refuse.submit("too late")
    await kit.drain()
    (dead,) = kit.dead(refuse)
    assert dead.reason is not None
    assert (dead.reason.code, dead.reason.text, dead.arguments) == ("rejected", "too late", {"why": "too late"})
    assert kit.completed() == []
    await kit.app.broker.redrive([dead.id])
    assert kit.dead() == []
    assert [one.id for one in kit.waiting()] == [dead.id]


async def test_a_message_that_cannot_be_read_is_dead_all_the_same(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    handle = await nothing.submit()
    crew = kit._open[1]
    crew._state.damage(handle.id)  # type: ignore[attr-defined]
    await kit.drain()
    (dead,) = kit.dead()
    assert (dead.id, dead.task, dead.arguments, dead.message) == (handle.id, "", {}, None)


async def test_a_duplicate_was_not_sent(kit: Kit) -> None:
    @kit.app.task
    async def build() -> None: ...

    for _ in range(3):
        await kit.app.submit(build.bind(), unique="site")
    assert len(kit.sent(build)) == len(kit.waiting(build)) == 1
    for _ in range(3):
        await kit.app.submit(build.bind(), key="release-1")
    await kit.drain()
    assert len(kit.sent(build)) == len(kit.completed(build)) == 2


async def test_what_schedules_send_is_seen(kit: Kit) -> None:
    @kit.app.task
    async def tick() -> None: ...

    kit.app.schedule(tick.bind(), every=60)
    await kit.advance(minutes=3)
    assert len(kit.sent(tick)) == len(kit.completed(tick)) == 3


async def test_events_tell_what_happened_on_the_way(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    handle = await nothing.submit()
    await kit.drain()
    assert [event.message_id for event in kit.events if event.kind == "completed"] == [handle.id]


async def test_a_name_that_no_task_has_is_an_error_and_no_empty_list(kit: Kit) -> None:
    @kit.app.task
    async def publish() -> None: ...

    with pytest.raises(UnknownTask, match="did you mean 'publish'"):
        kit.dead("pubish")


async def test_a_kit_sees_the_namespace_of_its_app() -> None:
    app = Tenure("memory://", namespace="blog")

    @app.task
    async def nothing() -> None: ...

    async with Kit(app) as kit:
        await nothing.submit()
        await kit.drain()
        assert len(kit.completed(nothing)) == 1


async def test_handlers_and_test_agree_on_the_time(kit: Kit) -> None:
    seen: list[float] = []

    @kit.app.task
    async def look(ctx: Context) -> None:
        seen.append(ctx.message.sent_at)

    assert isinstance(kit.clock, VirtualClock)
    assert kit.now == datetime.fromtimestamp(kit.clock.wall(), UTC)
    await kit.advance(days=1)
    at = kit.now.timestamp()
    await look.submit()
    await kit.drain()
    assert seen == [at]


# -- where the app is --------------------------------------------------------------------------------


async def test_the_place_of_the_app_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    app = Tenure(f"sqlite:///{file}")

    @app.task
    async def nothing() -> None: ...

    async with Kit(app) as kit:
        await nothing.submit()
        await kit.drain()
        inside = app.clock
        assert inside is kit.clock
    assert not file.exists()
    assert app.clock is SYSTEM_CLOCK
    assert app.middleware == []


async def test_two_kits_of_one_app_share_nothing() -> None:
    app = Tenure("memory://shared-by-nobody")

    @app.task
    async def nothing() -> None: ...

    async with Kit(app) as kit:
        await nothing.submit()
    async with Kit(app) as kit:
        assert kit.waiting() == kit.sent() == []


async def test_a_handler_at_work_is_ended_with_the_kit() -> None:
    app = Tenure("memory://")
    ends: list[str] = []

    @app.task
    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append("ended")

    async with Kit(app) as kit:
        await slow.submit()
        await kit.advance(minutes=1)
    assert ends == ["ended"]


def test_a_kit_runs_without_pytest() -> None:
    app = Tenure("memory://")

    @app.task
    async def add(a: int, b: int) -> int:
        return a + b

    async def test(kit: Kit) -> int:
        await add.submit(1, 2)
        await kit.drain()
        return int(kit.completed(add)[0].result)

    assert Kit.run(app, test) == 3


def test_a_kit_that_is_not_open_says_so() -> None:
    with pytest.raises(KitError, match="use it in an async test"):
        Kit(Tenure("memory://")).completed()


@pytest.mark.real_time
async def test_a_kit_needs_virtual_time() -> None:
    with pytest.raises(KitError, match="a kit needs virtual time"):
        await Kit(Tenure("memory://")).__aenter__()
