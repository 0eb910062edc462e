"""The watchdog says when a loop is blocked, and by which line. In real time, on two loops."""

import asyncio
import threading
import time

import pytest

from tenure.runtime.background import watchdog as module
from tenure.runtime.background.side_thread import OwnThread
from tenure.runtime.background.watchdog import Watchdog

pytestmark = pytest.mark.real_time


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(module, "BLOCKED_SECONDS", 0.1)


def hold_everybody_up(told: threading.Event) -> None:
    told.wait(30.0)
    time.sleep(0.4)  # the spell goes on after it was told


async def test_a_blocked_loop_is_told_once_a_spell_with_the_line_that_blocks() -> None:
    told, is_told = list[tuple[float, str]](), threading.Event()

    def tell(seconds: float, stack: str) -> None:
        if "in hold_everybody_up" in stack:  # a busy machine holds up the loop as well, or everything
            told.append((seconds, stack))
            is_told.set()

    watchdog = Watchdog(asyncio.get_running_loop(), tell)
    side = OwnThread("side")
    await side.start([watchdog.run])
    for spell in (1, 2):
        await has_moved(watchdog)
        is_told.clear()
        hold_everybody_up(is_told)
        assert len(told) == spell
    await has_moved(watchdog)
    await side.stop()
    assert len(told) == 2
    for seconds, stack in told:
        assert seconds >= 0.1
        assert "told.wait(30.0)" in stack


async def has_moved(watchdog: Watchdog) -> None:
    """Until the watchdog has been answered by the loop, and has looked at that more than once."""
    seen = watchdog._seen
    async with asyncio.timeout(30.0):
        while watchdog._seen == seen:  # noqa: ASYNC110 - the watchdog tells nobody that all is well
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)


async def test_a_loop_that_moves_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCKED_SECONDS", 10.0)  # a busy machine holds loops up too
    told: list[float] = []
    watchdog = Watchdog(asyncio.get_running_loop(), lambda seconds, _stack: told.append(seconds))
    side = OwnThread("side")
    await side.start([watchdog.run])
    for _ in range(20):
        await asyncio.sleep(0.02)
    await side.stop()
    assert told == []


async def test_a_standstill_is_told_also_between_two_looks() -> None:
    """The GIL may be lost at any line of the watchdog, not only while it sleeps."""
    told, holds = list[tuple[float, str]](), [0.4]
    is_told = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell(seconds: float, stack: str) -> None:
        told.append((seconds, stack))
        loop.call_soon_threadsafe(is_told.set)

    watchdog = Watchdog(loop, tell, on_look=lambda: time.sleep(holds.pop()) if holds else None)
    side = OwnThread("side")
    await side.start([watchdog.run])
    async with asyncio.timeout(30.0):
        await is_told.wait()
    await side.stop()
    assert told[0][0] >= 0.3
    assert told[0][1] == ""
