"""The meter: counts, between the workers and the in-memory broker, what SQS would bill.

A request carries ten entries at most, as there. A long poll that found nothing is a request; one that brought work is
the receive that brought it. Beside the queue every entry that a claim, a renewal, a seal or a release writes is a write
to the state, and so is the entry of a message that is sent. The meter also lets deletes fail, and knows when nothing is
left. Between `virtual_worker.py` and the broker.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tenure.broker import Broker, Sent
from tenure.claim import ClaimAnswer, ClaimRequest, Seal, Token
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.simulation.outcomes import Outcomes
from tenure.simulation.scenario import Scenario
from tenure.simulation.timer import Timer
from tenure.state import State
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestLedger, HonestState
from tenure.testing.virtual import VirtualClock

#: Entries in one request.
BATCH = 10

#: The real worker does both at once.
_DELETE_FIRST = 0.01
#: A worker that waits looks at nothing else meanwhile, so it need not be woken for every poll that found nothing.
_LONGEST_WAIT = 3600.0

SEND, RECEIVE, DELETE, CHANGE = "send", "receive", "delete", "change_visibility"
#: A receive that brought nothing.
POLL = "empty_receive"
WRITE = "state_write"
REQUESTS = (SEND, RECEIVE, POLL, DELETE, CHANGE)


def _requests(entries: int) -> int:
    return -(-entries // BATCH)


class MeteredBroker(HonestBroker):
    """Counts requests. Without a ledger, it serves a loop that looks neither at the clock nor at a delete's answer."""

    def __init__(
        self,
        inner: Broker,
        clock: VirtualClock,
        *,
        book: Outcomes,
        scenario: Scenario,
        timer: Timer,
        has_ledger: bool,
    ) -> None:
        """Meter `inner`; `timer` hears when leases end."""
        super().__init__(inner, clock)
        self.counts: Counter[str] = Counter()
        self._book = book
        self._scenario = scenario
        self._timer = timer
        self._has_ledger = has_ledger
        #: Delete calls so far that began with this message.
        self._deletes: Counter[int] = Counter()
        #: The fence of the newest lease on each message.
        self._newest: dict[str, int] = {}
        #: What a loop that extends its timeouts was lent, by owner and message, until its handler takes it from here.
        self.lent: dict[tuple[str, str], Lease] | None = None

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Count, and pass it on."""
        self.counts[SEND] += _requests(len(batch))
        if self._has_ledger:
            self.counts[WRITE] += len(batch)
        return await self.inner.send(batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Count what brings something. A loop of one's own deletes before it receives again."""
        if not self._has_ledger:
            await asyncio.sleep(_DELETE_FIRST)
        leases = await self.inner.lease(request)
        if leases:
            self.counts[RECEIVE] += 1
            self._timer.expect(min(lease.deadline for lease in leases))
        return leases if self._has_ledger else [self._unwatched(lease) for lease in leases]

    def _unwatched(self, lease: Lease) -> Lease:
        """For a loop that looks at no clock: it knows of no end, so its run is not ended when its time is over."""
        self._newest[lease.id] = lease.fence
        if self.lent is not None:
            self.lent[lease.owner, lease.id] = lease
        return msgspec.structs.replace(lease, deadline=math.inf)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Count polls that found nothing: one for every `seconds`, also over long idle times."""
        began = self.clock.now
        try:
            await self.inner.wait(queues, _LONGEST_WAIT, excluded, limits)
        finally:
            self.counts[POLL] += int((self.clock.now - began) / seconds)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Count, and remember when the leases end."""
        self.counts[CHANGE] += _requests(len(leases))
        answers = await self.inner.touch(leases)
        self._timer.expect(min(answer.deadline for answer in answers))
        beats = self._book.beats
        for lease in leases:
            beats[int(lease.id)] += 1
        return answers

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Count, and let some fail."""
        self.counts[DELETE] += _requests(len(batch))
        first = int(batch[0].lease.id)
        if self._scenario.delete_failure_rate:
            self._deletes[first] += 1
            if self._scenario.fails_to_delete(first, self._deletes[first]):
                if self._has_ledger:
                    msg = "this delete was made to fail"
                    raise BrokerUnavailable(msg)
                return [Settlement(Outcome.UNKNOWN)] * len(batch)
        settled = await self.inner.ack(batch)
        if not self._has_ledger:
            settled = [await self._as_sqs(ack, one) for ack, one in zip(batch, settled, strict=True)]
        self._leave([ack.lease.id for ack, one in zip(batch, settled, strict=True) if one.outcome is Outcome.DELETED])
        return settled

    async def _as_sqs(self, ack: Ack, answer: Settlement) -> Settlement:
        """The newest receipt deletes also after its time, while no other worker has the message; an older one may."""
        lease = ack.lease
        is_newest = answer.outcome is Outcome.ALREADY_GONE and self._newest.get(lease.id) == lease.fence
        if answer.outcome is Outcome.DELETED or not (is_newest or self._scenario.stale_deletes_work):
            return answer
        (met,) = await self.inner.cancel([lease.id])
        return answer if met is None else Settlement(Outcome.DELETED)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Count."""
        self.counts[CHANGE] += _requests(len(batch))
        return await self.inner.nack(batch)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Count."""
        self.counts[CHANGE] += _requests(len(batch))
        return await self.inner.give_back(batch)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Count, and note who is given up."""
        self.counts[DELETE] += _requests(len(batch))
        settled = await self.inner.dead_letter(batch)
        gone = [word.lease.id for word, one in zip(batch, settled, strict=True) if one.outcome is Outcome.DEAD]
        self._leave(gone, given_up=True)
        return settled

    def _leave(self, ids: list[str], *, given_up: bool = False) -> None:
        now = self.clock.now - self._book.began
        for id in ids:
            self._newest.pop(id, None)
            self._book.leave(int(id), now, given_up=given_up)


class MeteredLedger(HonestLedger):
    """Counts writes to the state."""

    def __init__(self, inner: State, clock: VirtualClock, counts: Counter[str]) -> None:
        """Meter the ledger of `inner`."""
        super().__init__(inner, clock)
        self._counts = counts

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Count, and pass it on."""
        self._counts[WRITE] += len(batch)
        return await super().claim(batch)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Count, and pass it on."""
        self._counts[WRITE] += len(tokens)
        return await super().renew(tokens)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Count, and pass it on."""
        self._counts[WRITE] += len(tokens)
        return await super().release(tokens)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Count, and pass it on."""
        self._counts[WRITE] += len(batch)
        return await super().seal(batch)


class MeteredState(HonestState):
    """The state with a ledger that counts; the heartbeat's connection has the same one."""

    def twin(self) -> State:
        """Itself: there is one loop."""
        return self
