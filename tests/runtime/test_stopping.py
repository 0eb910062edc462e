"""What a worker says of handlers and messages that it could not wait for."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from tenure.runtime.path.handling import Handling
from tenure.runtime.path.slots import Slots
from tenure.runtime.stopping import let_finish, let_settle


@pytest.mark.parametrize(
    ("handlers", "words"),
    [
        (1, "1 handler did not finish within the grace period; returning what it ran"),
        (2, "2 handlers did not finish within the grace period; returning what they ran"),
    ],
)
async def test_handlers_that_outlast_the_grace_are_told(
    handlers: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    runners = [asyncio.ensure_future(asyncio.sleep(3600)) for _ in range(handlers)]
    handling = SimpleNamespace(running=[SimpleNamespace(runner=runner) for runner in runners])
    await let_finish(cast("Handling", handling), asyncio.Event(), 1.0)
    assert [record.getMessage() for record in caplog.records] == [words]


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (1, "1 message could not be settled; it will be run again"),
        (2, "2 messages could not be settled; they will be run again"),
    ],
)
async def test_messages_that_cannot_be_settled_are_told(
    left: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked_again = asyncio.Event()
    asked_again.set()
    slots = SimpleNamespace(unsettled=left, all_settled=asyncio.Event().wait)
    await let_settle(cast("Slots", slots), asked_again)
    assert [record.getMessage() for record in caplog.records] == [words]


async def test_a_worker_that_waits_for_its_broker_says_so_and_how_to_leave(caplog: pytest.LogCaptureFixture) -> None:
    asked_again, settled = asyncio.Event(), asyncio.Event()
    slots = SimpleNamespace(unsettled=1, all_settled=settled.wait)
    waiting = asyncio.ensure_future(let_settle(cast("Slots", slots), asked_again))
    await asyncio.sleep(3600)
    assert not waiting.done()
    settled.set()
    await waiting
    words = "1 message cannot be settled while the broker is unreachable; waiting for it."
    assert [record.getMessage().partition(" A second")[0] for record in caplog.records] == [words]
