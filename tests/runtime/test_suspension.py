"""A machine that was suspended: deadlines went on, timers did not, and all leases are renewed when it wakes."""

import asyncio
import logging
import shutil
import subprocess
import sys

import pytest

from tenure import Context
from tenure.clock import SYSTEM_CLOCK
from tenure.message import MessageState
from tenure.runtime.background.suspension import Suspension
from tenure.runtime.processes.frames import Frame
from tenure.runtime.supervisor.lease_keeper import LeaseKeeper
from tenure.runtime.supervisor.protocol import EntrustedLease, Hold
from tenure.testing.harness import Harness, NotApplicable
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire
from tenure.testing.workers import Stage

from .beating import LEASE


def suspensions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "suspended" in one.getMessage()]


async def test_virtual_timers_stand_still_while_the_machine_sleeps(virtual_clock: VirtualClock) -> None:
    loop, wall = asyncio.get_running_loop().time(), virtual_clock.wall()
    began = virtual_clock.monotonic()
    virtual_clock.suspend(3600.0)
    assert asyncio.get_running_loop().time() == loop
    assert virtual_clock.monotonic() == began + 3600.0
    assert virtual_clock.wall() == wall + 3600.0


async def test_a_lease_has_expired_after_a_sleep_that_was_longer(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    assert not lease.has_expired(harness.clock.monotonic())
    harness.clock.suspend(LEASE + 1)
    assert lease.has_expired(harness.clock.monotonic())


async def test_a_worker_that_wakes_touches_everything_it_holds(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    touched: list[tuple[float, int]] = []
    async with Stage(harness) as stage:

        @stage.task
        async def work(_ctx: Context) -> None:
            await asyncio.sleep(60)

        ids = [await stage.submit(work.bind()) for _ in range(3)]
        actor = await stage.start()
        await asyncio.sleep(3)
        actor.wire.spy = lambda name, given: (
            touched.append((asyncio.get_running_loop().time(), len(given[0]))) if name == "broker.touch" else None
        )
        woke = asyncio.get_running_loop().time()
        harness.clock.suspend(3600.0)
        await asyncio.sleep(1.5)
        assert [count for _, count in touched] == [3]
        assert touched[0][0] - woke <= 1.01
        assert suspensions(caplog) == ["this machine was suspended for 3600 s; renewing the 3 leases held here now"]
        await asyncio.sleep(70)
        assert [await harness.state_of(id) for id in ids] == [MessageState.COMPLETED] * 3


async def test_a_clock_that_is_only_read_late_is_no_suspension(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:
        await stage.start()
        for _ in range(5):
            harness.clock.suspend(0.5)
            await asyncio.sleep(1.5)
        await harness.move_wall(3600.0)
        await asyncio.sleep(1.5)
    assert suspensions(caplog) == []


async def test_a_process_that_is_stopped_between_two_reads_was_not_suspended(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    class StoppedOnce:
        """Stops the process for 5 s just before the clock is read for the second time."""

        def __init__(self) -> None:
            self.reads = 0

        def monotonic(self) -> float:
            self.reads += 1
            harness.clock.now += 5.0 if self.reads == 2 else 0.0
            return harness.clock.monotonic()

        wall, boot_id = harness.clock.wall, harness.clock.boot_id

    suspension = Suspension(StoppedOnce(), lambda: 1, lambda: pytest.fail("no machine was suspended"))
    running = asyncio.create_task(suspension.run())
    await asyncio.sleep(10)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert suspensions(caplog) == []


async def test_the_supervisor_renews_the_leases_that_it_keeps(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    told: list[Frame] = []
    keeping = LeaseKeeper(wire.broker, wire.state.ledger, harness.clock, told.append)
    running = asyncio.create_task(keeping.run())
    keeping.hear(Hold([EntrustedLease(1, await harness.leased(harness.stranger()), None)]))
    await asyncio.sleep(2)
    assert "broker.touch" not in wire.said
    harness.clock.suspend(600.0)
    await asyncio.sleep(1.5)
    assert wire.said.count("broker.touch") == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.real_time
async def test_the_machines_clock_is_never_behind_the_loops() -> None:
    for _ in range(100):
        loop = asyncio.get_running_loop().time()
        assert SYSTEM_CLOCK.monotonic() >= loop


@pytest.mark.real_time
def test_the_machines_clock_counts_time_asleep() -> None:
    """In a namespace whose clock since boot is an hour ahead of the one that stands still in a suspended machine."""
    code = "import time; from tenure.clock import SYSTEM_CLOCK; print(SYSTEM_CLOCK.monotonic() - time.monotonic())"
    words = ["unshare", "-UrT", "--boottime", "3600", "--fork", sys.executable, "-c"]
    if shutil.which("unshare") is None or subprocess.run([*words, ""], capture_output=True, check=False).returncode:
        raise NotApplicable("no time namespaces here: unshare -UrT is missing or forbidden")
    ahead = subprocess.run([*words, code], capture_output=True, text=True, check=True).stdout
    assert float(ahead) == pytest.approx(3600.0, abs=1.0)
