"""What the adapters bring along to the conformance suites."""

from tenure.adapters import memory
from tenure.broker import Broker
from tenure.owner import Owner
from tenure.state import State
from tenure.testing.harness import Fault, Harness


class MemoryHarness(Harness):
    """The in-memory broker in its exact shape."""

    exact = True

    def __init__(self, fault: Fault | None = None) -> None:
        """A private store."""
        super().__init__(fault)
        self._broker, self._state = memory.connect(clock=self.clock, exact=self.exact)

    async def connect(self) -> tuple[Broker, State]:
        """Open the only store there is."""
        await self._broker.open()
        await self._state.open()
        return self._broker, self._state

    async def kill(self, owner: Owner) -> None:
        """The memory roster takes our word for it."""
        self._state.kill(owner.id)

    async def damage(self, id: str) -> bytes:
        """Write over the stored bytes."""
        return self._state.damage(id)

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline."""
        self._state.drop_deadline(id)


class LooseMemoryHarness(MemoryHarness):
    """The in-memory broker as a cloud queue: it knows neither keys nor results."""

    exact = False
