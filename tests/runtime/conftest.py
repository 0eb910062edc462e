"""A memory store in virtual time, for tests of one part of the runtime at a time."""

from typing import Any

import pytest

from tenure.adapters import memory
from tenure.broker import Broker
from tenure.owner import Owner
from tenure.state import State
from tenure.testing.harness import Harness


class MemoryHarness(Harness):
    """The in-memory broker, in the shape that a test needs."""

    def __init__(self, *, exact: bool = True, **changes: Any) -> None:
        """A private store."""
        super().__init__()
        self._pair = memory.connect(clock=self.clock, exact=exact, **changes)

    async def connect(self) -> tuple[Broker, State]:
        return self._pair

    async def kill(self, owner: Owner) -> None:
        self._pair[1].kill(owner.id)

    async def damage(self, id: str) -> bytes:
        return self._pair[1].damage(id)


@pytest.fixture
def harness() -> Harness:
    """Settles exactly once."""
    return MemoryHarness()


@pytest.fixture
def loose() -> Harness:
    """As a cloud queue: everything must be claimed and sealed."""
    return MemoryHarness(exact=False)


@pytest.fixture
def small() -> Harness:
    """Takes three entries a call."""
    return MemoryHarness(exact=False, batch_limit=3)


@pytest.fixture
def narrow() -> Harness:
    """Lends ten kilobytes a call."""
    return MemoryHarness(lease_byte_limit=10_000)


@pytest.fixture
def alike() -> Harness:
    """Lends whatever lies in a queue for the same time."""
    return MemoryHarness(exact=False, lease_per_message=False)
