"""Parts that a test can kill: a state that accepts a test's word for an owner's death, and a dying worker's wire.

Used by `crew.py`.
"""

import asyncio
from typing import Protocol

from tenure.broker import Broker
from tenure.errors import LeaseLost
from tenure.state import State
from tenure.testing.wire import Listener, Wire


class Mortal(State, Protocol):
    """A state in which a test can have an owner die."""

    def kill(self, owner_id: str) -> None:
        """Declare an owner's death proven from now on."""
        ...


class MortalWire(Wire):
    """A wire that ends those who still wait on it when their worker is dead and buried.

    A thread cannot be ended: one that asks its context something would wait for ever, and time with it.
    """

    def __init__(self, broker: Broker, state: State, heard: Listener) -> None:
        """Make the wire of a living worker."""
        super().__init__(broker, state, heard)
        self.is_buried = asyncio.Event()

    async def _pass(self) -> None:
        await self._thawed.wait()
        if self.is_cut.is_set():
            await self.is_buried.wait()
            msg = "the worker was killed by the test; nothing that it says gets through"
            raise LeaseLost(msg)
