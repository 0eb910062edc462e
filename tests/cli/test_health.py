"""`tenure health`: an exit code and one line for probes."""

import asyncio
import signal

import pytest
from tests.servers import start_redis

from tenure import Tenure
from tenure.client.operations.health import Health, examine
from tenure.owner import Owner
from tenure.testing.virtual import VirtualClock

from .conftest import Run, answer
from .process import started


def app_on(clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=clock)

    @app.task(queue="slow")
    async def nap() -> None:
        pass

    return app


async def test_a_worker_that_serves_the_queue_and_sweeps_is_healthy(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app, app.worker():
        assert await examine(app.operate.access, ["slow"], here=False) == Health(
            healthy=True, problems=(), store=True, workers=1, queues={"slow": 1}, sweep=True
        )


async def test_a_queue_without_a_worker_is_named(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app, app.worker():
        found = await examine(app.operate.access, ["slow", "fast"], here=False)
    assert (found.healthy, found.problems) == (False, ("no worker serves queue fast",))


async def test_no_worker_at_all_is_unhealthy(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app:
        assert (await examine(app.operate.access, [], here=False)).problems == ("no worker is alive",)


async def test_a_sweep_that_does_not_come_is_late(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app:
        await app.state.roster.join(Owner("w", "1", queues=("slow",)))
        began = app.clock.monotonic()
        found = await examine(app.operate.access, ["slow"], here=False)
    assert (found.sweep, found.problems) == (False, ("no sweep has run for 10 s",))
    assert app.clock.monotonic() - began == pytest.approx(10.0, abs=1.0)


async def test_probes_keep_nobody_from_sweeping(virtual_clock: VirtualClock) -> None:
    """As if the probe had been killed between its two steps: its turn is for so long that it counts for nobody."""
    app = app_on(virtual_clock)
    async with app:
        assert await app.state.board.take_turn("sweep", "a probe", 3600.0)
        assert await app.state.board.take_turn("sweep", "a worker", 5.0)


async def test_a_probe_between_two_sweeps_waits_for_the_next(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app, app.worker():
        for _ in range(40):
            assert (await examine(app.operate.access, ["slow"], here=False)).healthy
            await asyncio.sleep(0.73)


async def test_a_worker_that_is_silent_does_not_count(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app:
        await app.state.roster.join(Owner("w", "1", queues=("slow",)))
        await asyncio.sleep(20)
        assert (await examine(app.operate.access, ["slow"], here=False)).workers == 0


async def test_here_counts_workers_of_this_container_only(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app:
        await app.state.roster.join(Owner("w", "1", queues=("slow",), boot_id="other", pid_namespace="other"))
        assert (await examine(app.operate.access, ["slow"], here=False)).workers == 1
        assert (await examine(app.operate.access, ["slow"], here=True)).workers == 0
        async with app.worker():
            assert (await examine(app.operate.access, ["slow"], here=True)).workers == 1


def test_the_line_and_the_exit_code(tenure: Run) -> None:
    nobody = tenure("health", "jobs:app")
    assert (nobody.exit_code, nobody.stdout) == (
        1,
        "unhealthy: no worker serves queue default-tasks; no worker serves queue slow\n",
    )
    with started("worker", "jobs:app") as worker:
        worker.says("runs 4 tasks")
        good = tenure("health", "jobs:app", "--here")
        assert (good.exit_code, good.stdout) == (
            0,
            "healthy: default-tasks: 1 worker, slow: 1 worker; the sweep is on time\n",
        )
        assert answer(tenure("health", "sqlite:///jobs.db", "--queue", "slow", "--json")) == {
            "healthy": True, "problems": [], "store": True, "workers": 1, "queues": {"slow": 1}, "sweep": True,
        }  # fmt: skip
        worker.send(signal.SIGKILL)
        worker.ends()
    dead = tenure("health", "sqlite:///jobs.db")
    assert (dead.exit_code, dead.stdout) == (1, "unhealthy: no worker is alive\n")


def test_a_store_that_is_away_is_unhealthy(tenure: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    with start_redis("valkey9", tmp_path_factory.mktemp("valkey")) as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        tenure("submit", url, "nap", "{}", "--create")
        there = tenure("health", url)
        assert there.stdout == "unhealthy: no worker is alive\n"
        server.kill()
        away = tenure("health", url)
        assert away.exit_code == 1
        assert away.stdout.startswith("unhealthy: Redis at 127.0.0.1")
        server.start()
        server.freeze()
        silent = tenure("health", url, "--timeout", "300ms")
        assert (silent.exit_code, silent.stdout) == (1, "unhealthy: no answer within 0.3 s\n")


def test_bad_input_is_told_from_bad_health(tenure: Run) -> None:
    assert tenure("health", "sqlite:///nowhere.db").exit_code == 2
    assert tenure("health", "jobs:nothing").exit_code == 2
