"""A goodbye is never taken for a crash."""

import asyncio
import threading
from pathlib import Path

import pytest

from tenure.adapters import sqlite
from tenure.clock import SYSTEM_CLOCK
from tenure.owner import Owner


@pytest.mark.real_time
async def test_an_owner_that_leaves_while_it_is_judged_is_not_called_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge reads the row, the owner says goodbye and frees its lock, the judge tests the lock."""
    broker, state = sqlite.connect(str(tmp_path / "jobs.db"), clock=SYSTEM_CLOCK)
    await broker.open()
    await state.open()
    owner = Owner("worker", "1", boot_id=SYSTEM_CLOCK.boot_id())
    await state.roster.join(owner)
    presence = state._store.presence
    is_held, testing, gone = presence.is_held, threading.Event(), threading.Event()

    def slowly(id: str) -> bool:
        testing.set()
        gone.wait(60)
        return is_held(id)

    monkeypatch.setattr(presence, "is_held", slowly)
    judging = asyncio.create_task(state.roster.dead())
    await asyncio.to_thread(testing.wait, 60)
    await state.roster.leave(owner)
    gone.set()
    (dead,) = await judging
    assert dead.left, f"it left, and is called dead: {dead.proof}"
    await state.close()
    await broker.close()
