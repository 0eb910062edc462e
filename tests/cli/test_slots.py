"""Slots on the command line: each process of a supervisor has one of its own."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.cli.commands.worker.processes import supervise


@pytest.mark.parametrize(("slot", "words"), [("pod/a", ["--slot", "pod/a/2"]), ("", [])])
def test_each_process_of_a_supervisor_has_a_slot_of_its_own(
    monkeypatch: pytest.MonkeyPatch, slot: str, words: list[str]
) -> None:
    """They run at the same time: in one slot each would be the proof that the others are dead."""
    made: list[list[str]] = []

    class Idle:
        deaths = held = 0
        owners: list[str] = []  # noqa: RUF012 - never changed
        metrics = SimpleNamespace(collect=list)

        def __init__(self, words_of: Callable[[int], list[str]], **_: Any) -> None:
            made.append(words_of(2))

        def listen(self) -> None: ...

        def ignore(self) -> None: ...

        async def worked(self) -> None:
            await asyncio.Event().wait()

        asked_to_stop = worked

        async def run(self) -> int:
            return 0

    monkeypatch.setattr("tenure.runtime.supervisor.supervisor.Supervisor", Idle)
    code = supervise(
        ["worker", "jobs:app"],
        processes=2, name="", slot=slot, keeps_leases=False, until_empty=False, as_json=False, metrics=None,
    )  # fmt: skip
    assert (code, made) == (0, [["worker", "jobs:app", *words]])
