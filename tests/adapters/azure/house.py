"""A harness with a second process, which ends between two of its calls."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.conformance.azure_harness import AzureHarness, RowStoreAzureHarness

from tenure.adapters import azure
from tenure.announcement import AnnounceRequest
from tenure.broker import Broker
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.settlement import Ack
from tenure.state import State
from tenure.testing.harness import QUEUE

#: More calls than any verb makes.
_MANY = 20


class Ended(BaseException):
    """The process has ended; nobody can catch that."""


class Crashing(AzureHarness):
    """With a second process, which ends when it is told to."""

    _left: float = float("inf")
    #: The state of the last victim; it is open while its broker is.
    victim_state: State

    async def victim(self) -> Broker:
        """Another process over the same account: it remembers what it did itself, and nothing else."""
        self._left = float("inf")
        broker, self.victim_state = azure.connect(self._options, clock=self.clock, hook=self._pass)
        await broker.open()
        return broker

    def end_after(self, calls: int) -> None:
        """The victim ends when it wants to make one call more."""
        self._left = calls

    def _pass(self, request: Any) -> None:
        if self._left <= 0:
            raise Ended
        self._left -= 1
        self._tell_time(request)

    async def left(self) -> int:
        """How many messages the queue may still bring."""
        return await self.shown()

    async def shown(self, ending: str = "") -> int:
        """How many messages a queue shows."""
        client = self._store.queue(QUEUE, ending)
        found: Any = await self._store.call("looking", lambda: client.peek_messages(max_messages=32))
        return len(found)

    async def done(self, lease: Lease) -> bool:
        """Claim; seal if that is fresh. False: it was done before, or nobody wants it any more."""
        message = decode(lease.envelope)
        request = ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))
        (answer,) = await self.state.ledger.claim([request])
        if isinstance(answer, Done):
            return False
        assert isinstance(answer, Fresh)
        (is_mine,) = await self.state.ledger.seal([Seal(answer.token, b"1", announce=AnnounceRequest.of(message))])
        return is_mine

    async def finish(self, id: str) -> int:
        """Be everybody else, for as long as it takes; how often the work was done."""
        runs = 0
        for _ in range(6):
            await self.lapse()
            leases = await self.lease_all(self.stranger())
            assert [lease.id for lease in leases] in ([], [id])
            for lease in leases:
                is_new = await self.done(lease)
                runs += is_new
                await self.broker.ack([Ack(lease, b"1", is_duplicate=not is_new)])
            if not leases and not await self.left():
                break
        assert await self.left() == 0
        return runs


class CrashingHarness(Crashing):
    """Over the core that is here."""


class SharedCrashingHarness(RowStoreAzureHarness, Crashing):
    """Over the core that SQS has too: a copy comes back some seconds after its lease."""

    async def left(self) -> int:
        """What is hidden too."""
        told: Any = await self.session.call("counting", self.session.queue(QUEUE).get_queue_properties)
        return int(told.approximate_message_count)


async def each_call(
    harness: Crashing,
    prepare: Callable[[Broker], Awaitable[Any]],
    verb: Callable[[Broker, Any], Awaitable[Any]],
    check: Callable[[Any, int], Awaitable[None]],
) -> int:
    """Let a process end after every number of calls of `verb`; how many calls it makes."""
    for calls in range(_MANY):
        victim = await harness.victim()
        what = await prepare(victim)
        harness.end_after(calls)
        try:
            await verb(victim, what)
        except Ended:
            is_through = False
        else:
            is_through = True
        await victim.close()
        await check(what, calls)
        if is_through:
            return calls
    raise AssertionError("it makes more calls than expected")


async def leased_by(harness: Crashing, victim: Broker) -> Lease:
    message = await harness.put()
    await harness.sweep()
    (lease,) = await victim.lease(harness.request(harness.stranger()))
    assert lease.id == message.id
    return lease
