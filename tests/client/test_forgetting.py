"""Forgetting a client: nothing of its content is left, nothing of another's is touched, and a kill is made good."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import Context, Tenure
from tenure.client.forgetting import PHASES, Forgetting, Place
from tenure.config import Settings
from tenure.errors import BadArgument, UnknownQueue
from tenure.event import EventKind
from tenure.testing.virtual import VirtualClock

SECRET = "s3cret"


def make_app(url: str, clock: VirtualClock, **options: Any) -> Tenure:
    app = Tenure(url, clock=clock, settings=Settings(client="default", max_attempts=1), **options)

    @app.task
    async def work(ctx: Context, what: str) -> str:
        if what.startswith("long"):
            await asyncio.sleep(3600)
        if what.startswith("bad"):
            raise ValueError(what)
        return what

    return app


async def fill(app: Tenure, client: str) -> list[str]:
    """Something of every kind."""
    work = app.tasks["work"]
    ends = [await app.submit(work.bind(f"{word} {SECRET}"), client=client, key=word) for word in ("done", "bad")]
    async with app.worker(queues=(f"{client}-tasks",)):
        await asyncio.sleep(30.0)
    cancelled = await app.submit(work.bind(f"cancelled {SECRET}"), client=client)
    await cancelled.cancel()
    waits = [
        await app.submit(work.bind(f"ready {SECRET}"), client=client),
        await app.submit(work.bind(f"later {SECRET}"), client=client, delay=3600),
        await app.submit(work.bind(f"elsewhere {SECRET}"), client=client, queue="gpu"),
    ]
    return [one.id for one in (*ends, cancelled, *waits)]


@pytest.fixture(params=["memory", "sqlite"])
def app(request: pytest.FixtureRequest, tmp_path: Path, virtual_clock: VirtualClock) -> Tenure:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else f"memory://{tmp_path.name}"
    return make_app(url, virtual_clock)


async def test_nothing_of_a_client_is_left_and_others_keep_theirs(app: Tenure) -> None:
    own, others = await fill(app, "acme"), await fill(app, "eve")
    await app.operate.quota("acme", waiting=10)
    dry = await app.operate.forget_client("acme", dry_run=True)
    assert (dry.found, dry.removed) == ({"ready": 1, "delayed": 1, "leased": 0, "dead": 1}, {})
    assert all("acme" in one or one for one in dry.out_of_reach)
    done = await app.operate.forget_client("acme")
    assert done.after is None
    assert (done.removed["waiting"], done.removed["dead"], done.removed["quota"]) == (3, 1, 1)
    assert done.removed["records"] >= 5
    state = app.state
    for id in own:
        record = await state.records.get(id)
        assert record is None or (record.queue == "gpu" and SECRET not in repr(record))
        assert await state.journal.about(id) == []
    for id in others:
        assert await state.records.get(id) is not None
    events = [one.event for one in await state.journal.read()]
    assert not any(event.queue == "acme-tasks" for event in events[:-1])
    assert (events[-1].kind, events[-1].data["removed"] > 0) == (EventKind.CLIENT_FORGOTTEN, True)
    acts = (await app.operate.acts()).acts
    assert acts[0].kind == "client_forgotten"
    assert SECRET not in msgspec.json.encode(acts).decode()
    assert [one.client for one in (await app.operate.clients()).clients] == ["eve"]
    assert not (await state.board.read()).paused
    again = await app.submit(app.tasks["work"].bind(f"done {SECRET}"), client="acme", key="done")
    assert not again.duplicate
    await app.close()


async def test_what_runs_is_cancelled(app: Tenure) -> None:
    running = await app.submit(app.tasks["work"].bind(f"long {SECRET}"), client="acme")
    async with app.worker(queues=("acme-tasks",)):
        await asyncio.sleep(5.0)
        done = await app.operate.forget_client("acme")
        assert done.removed["running"] == 1
        assert any("again in a minute" in one for one in done.out_of_reach)
        await asyncio.sleep(60.0)
        await app.operate.forget_client("acme")
    assert await app.state.records.get(running.id) is None
    await app.close()


async def test_a_run_that_was_killed_after_any_step_is_made_good(virtual_clock: VirtualClock) -> None:
    steps = 1
    while True:
        app = make_app(f"memory://killed-{steps}", virtual_clock)
        await fill(app, "acme")
        access = app.operate.access
        work = Forgetting(access.broker, access.state, None, client="acme", queue="acme-tasks", namespace=None)
        place: Place | None = Place()
        for _ in range(steps):
            assert place is not None
            place = await work.step(place)
        if place is None:
            assert steps > len(PHASES)
            return
        done = await app.operate.forget_client("acme")
        assert done.after is None
        assert not any(one.event.message_id for one in await app.state.journal.read())
        assert (await app.operate.forget_client("acme", dry_run=True)).found == {
            "ready": 0, "delayed": 0, "leased": 0, "dead": 0,
        }  # fmt: skip
        await app.close()
        steps += 1


async def test_it_goes_on_where_it_stopped(app: Tenure) -> None:
    await fill(app, "acme")
    after, calls = "", 0
    while True:
        done = await app.operate.forget_client("acme", after=after, seconds=0.0)
        calls += 1
        if done.after is None:
            break
        after = done.after
    assert calls > len(PHASES)
    assert (await app.operate.forget_client("acme", dry_run=True)).found["ready"] == 0
    with pytest.raises(BadArgument, match="not where an earlier call stopped"):
        await app.operate.forget_client("acme", after="nonsense")
    await app.close()


async def test_bodies_go_with_their_messages(tmp_path: Path, virtual_clock: VirtualClock) -> None:
    app = make_app(f"sqlite:///{tmp_path}/jobs.db", virtual_clock, claim_check=f"file://{tmp_path}/bodies")
    large = await app.submit(app.tasks["work"].bind(SECRET * 200_000), client="acme", delay=3600)
    kept = await app.submit(app.tasks["work"].bind(SECRET * 200_000), client="eve", delay=3600)
    assert len(_files(tmp_path)) == 2
    done = await app.operate.forget_client("acme")
    assert done.removed["bodies"] == 1
    assert len(_files(tmp_path)) == 1
    assert await app.state.records.get(large.id) is None
    assert await app.state.records.get(kept.id) is not None
    await app.close()


def _files(folder: Path) -> list[Path]:
    return [one for one in (folder / "bodies").rglob("*") if one.is_file()]


async def test_a_client_that_is_not_known_is_not_forgotten(app: Tenure) -> None:
    await app.submit(app.tasks["work"].bind("a"), client="acme")
    with pytest.raises(UnknownQueue, match="Nothing was removed"):
        await app.operate.forget_client("acm")
    assert (await app.operate.client("acme")).waiting == 1
    await app.close()
