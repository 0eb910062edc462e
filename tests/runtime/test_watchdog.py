"""The watchdog says when a loop is blocked, and by which line. In real time, on two loops."""

import asyncio
import time

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.runtime import watchdog as module
from tenure.runtime.sideloop import OwnThread
from tenure.runtime.watchdog import Watchdog

pytestmark = pytest.mark.real_time


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(module, "BLOCKED_SECONDS", 0.1)


def hold_everybody_up(seconds: float) -> None:
    time.sleep(seconds)


async def test_a_blocked_loop_is_told_once_a_spell_with_the_line_that_blocks() -> None:
    told: list[tuple[float, str]] = []
    watchdog = Watchdog(asyncio.get_running_loop(), SYSTEM_CLOCK, lambda *report: told.append(report))
    side = OwnThread("side")
    await side.start([watchdog.run])
    for _ in range(2):
        await asyncio.sleep(0.1)
        hold_everybody_up(0.4)
    await asyncio.sleep(0.1)
    await side.stop()
    assert len(told) == 2
    seconds, stack = told[0]
    assert seconds >= 0.1
    assert "hold_everybody_up" in stack
    assert "time.sleep(seconds)" in stack


async def test_a_loop_that_moves_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCKED_SECONDS", 1.0)  # a busy machine holds loops up too
    told: list[float] = []
    watchdog = Watchdog(asyncio.get_running_loop(), SYSTEM_CLOCK, lambda seconds, _stack: told.append(seconds))
    side = OwnThread("side")
    await side.start([watchdog.run])
    for _ in range(20):
        await asyncio.sleep(0.02)
    await side.stop()
    assert told == []
