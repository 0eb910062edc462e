"""A goodbye is never taken for a crash."""

import asyncio
import threading
from pathlib import Path

import pytest

from tenure.adapters import sqlite
from tenure.clock import SYSTEM_CLOCK
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import judge


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
    look, testing, gone = presence.look, threading.Event(), threading.Event()

    def slowly(id: str) -> bool | None:
        testing.set()
        gone.wait(60)
        return look(id)

    monkeypatch.setattr(presence, "look", slowly)
    looking = asyncio.create_task(state.roster.members())
    await asyncio.to_thread(testing.wait, 60)
    await state.roster.leave(owner)
    gone.set()
    assert judge(await looking, SYSTEM_PROBE).dead == []
    (dead,) = judge(await state.roster.members(), SYSTEM_PROBE).dead
    assert dead.left, f"it left, and is called dead: {dead.proof}"
    await state.close()
    await broker.close()
