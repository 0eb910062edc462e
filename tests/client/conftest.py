"""A memory store in virtual time, for tests of programs outside the worker."""

from typing import Any

import pytest

from tenure.adapters import memory
from tenure.broker import Broker
from tenure.state import State
from tenure.testing.harness import Harness


class MemoryHarness(Harness):
    """The in-memory broker."""

    def __init__(self, **changes: Any) -> None:
        """A private store."""
        super().__init__()
        self._pair = memory.connect(clock=self.clock, **changes)

    async def connect(self) -> tuple[Broker, State]:
        return self._pair


@pytest.fixture
def harness() -> Harness:
    """Settles exactly once, and counts exactly."""
    return MemoryHarness()
