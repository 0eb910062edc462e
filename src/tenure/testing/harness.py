"""The harness: what an adapter brings along to be put through the conformance suites.

An adapter's author writes one subclass: `connect`, and those of the optional capabilities that
the store allows (`damage`, `drop_deadline`, `reopen`). A capability that is not there raises
`NotApplicable`, and the tests that need it are skipped with that reason. Everything else is shared: time,
sweeping, and the few lines that most tests begin with (`steps.py`).

One harness is one fresh store in virtual time. Used by `tenure.testing.conformance`.
"""

import unittest
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from tenure.broker import Broker
from tenure.message import MessageState
from tenure.owner import Owner
from tenure.state import State
from tenure.testing.steps import QUEUE, TASK, Steps
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

__all__ = ["BROKEN", "QUEUE", "TASK", "FaultWrapper", "Harness", "NotApplicable"]

#: Why an attempt failed, when a test does not care.
BROKEN = Reason("handler_error", "it broke")


class NotApplicable(unittest.SkipTest):
    """The test does not apply to this broker or harness. pytest shows it as a skip with its reason."""

    def __init__(self, reason: str) -> None:
        """Say what is missing; the first words tell this skip from one that hides a missing part."""
        super().__init__(f"not applicable: {reason}")


class FaultWrapper(Protocol):
    """A wrapper of a working store that `tenure.testing.faulty` makes for the suites."""

    def broker(self, inner: Broker, clock: VirtualClock) -> Broker:
        """The broker with the fault in it."""
        ...

    def state(self, inner: State, clock: VirtualClock) -> State:
        """The state with the fault in it."""
        ...


class Harness(Steps, ABC):
    """A fresh broker and state under test, from `async with` to its end."""

    #: The store tells wall time by a clock of its own. False: by this machine's.
    has_own_clock = False
    #: `Broker.find` brings the envelope also of what another process was lent.
    finds_envelopes = True
    #: `Records.find_ids` looks ids up by their beginning. False: it answers None.
    finds_ids = True
    #: Writing hundreds of posts takes seconds at most.
    fills_boards = True
    #: How many storms blow over it; each costs thousands of calls.
    storms = 4
    #: What a worker test calls very long: longer than a worker waits for an unknown task (ten minutes).
    long_seconds = 660.0

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """Run on a clock of its own; with `fault`, everything the tests see goes through it."""
        super().__init__()
        self._fault = fault
        self._seconds: list[Broker] = []
        self._elsewhere: tuple[Broker, State] | None = None

    # --- what an adapter brings -------------------------------------------------------------------------

    @abstractmethod
    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state. The first call makes a fresh store, later ones find that same store."""

    async def kill(self, owner: Owner) -> None:
        """Make it provable that `owner` is dead, as `kill -9` would, without a goodbye.

        A witness sees that its process has ended. A store with a proof of its own (a lock) adds that.
        """
        self.probe.end(owner.pid)

    async def go_unseen(self, owner: Owner) -> None:
        """Take away what the store itself sees of the process of `owner` (a lock file), as if it were elsewhere."""

    async def damage(self, id: str) -> bytes:
        """Spoil the stored envelope of a message so that it cannot be decoded; the new bytes."""
        raise NotApplicable(f"this harness cannot damage the envelope of {id}")

    async def drop_deadline(self, id: str) -> None:
        """Leave a leased message without a deadline, as a receive whose stamp was lost would."""
        raise NotApplicable(f"this harness cannot take the deadline of {id} away")

    async def remove_queue(self, queue: str) -> None:
        """Delete a queue from its service; from now on no queue is made by itself."""
        raise NotApplicable(f"queues such as {queue} come into being by themselves here")

    async def make_queue(self, queue: str) -> None:
        """Make a queue again that was deleted."""
        raise NotApplicable(f"queues such as {queue} come into being by themselves here")

    async def disconnect(self) -> None:
        """Close broker and state; what was acknowledged stays."""
        await self.state.close()
        await self.broker.close()

    async def reopen(self) -> None:
        """Close everything and open the same store again. Only durable stores can."""
        raise NotApplicable("this store does not outlive its connection")

    async def clean_up(self) -> None:
        """Remove the store when the test is over; what lives in memory needs no removing."""
        return

    # --- its life ---------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open a fresh store."""
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, and remove the store."""
        try:
            await self._close()
        finally:
            await self.clean_up()

    async def _open(self) -> None:
        self.broker, self.state = self._spoil(*await self.connect())

    async def _close(self) -> None:
        for broker in self._seconds:
            await broker.close()
        self._seconds.clear()
        if self._elsewhere is not None:
            broker, state = self._elsewhere
            self._elsewhere = None
            await state.close()
            await broker.close()
        await self.disconnect()

    async def _reopen(self) -> None:
        """`reopen` for subclasses whose store is durable."""
        await self._close()
        await self._open()

    def _spoil(self, broker: Broker, state: State) -> tuple[Broker, State]:
        if self._fault is None:
            return broker, state
        return self._fault.broker(broker, self.clock), self._fault.state(state, self.clock)

    async def second(self) -> Broker:
        """Another connection to the same store; the same object if any number of callers may share it."""
        twin = self.broker.twin()
        if twin is not self.broker:
            await twin.open()
            self._seconds.append(twin)
        return twin

    async def elsewhere(self) -> Broker:
        """A connection as another process has one: it shares no memory with the others."""
        if self._elsewhere is None:
            self._elsewhere = self._spoil(*await self.connect())
        return self._elsewhere[0]

    # --- what tests ask ---------------------------------------------------------------------------------

    def need(self, trait: str, wanted: Callable[[Any], bool] = bool) -> None:
        """Skip the test unless the broker's trait is as wanted."""
        value = getattr(self.traits, trait)
        if not wanted(value):
            raise NotApplicable(f"{trait} is {value!r} here")

    def need_browsable(self, *states: MessageState) -> None:
        """Skip the test unless the broker shows what is in these states."""
        hidden = [state.value for state in states if state not in self.traits.browsable]
        if hidden:
            raise NotApplicable(f"what is {' or '.join(hidden)} cannot be browsed here")

    def need_envelopes(self, *states: MessageState) -> None:
        """Skip the test unless the broker shows envelopes of what is in these states, and so filters by them."""
        hidden = [state.value for state in states if state in self.traits.opaque_states]
        if hidden:
            raise NotApplicable(f"what is {' or '.join(hidden)} is shown without its envelope here")

    def need_shown(self, *states: MessageState) -> None:
        """Skip the test unless the broker shows what is in these states, if need be by a scan."""
        hidden = [state.value for state in states if state not in self.traits.browsable | self.traits.scannable]
        if hidden:
            raise NotApplicable(f"what is {' or '.join(hidden)} is not shown here, not even by a scan")
