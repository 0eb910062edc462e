"""Leasing: one request for messages, from the wait to the bodies.

    a repeat?    the same request id: the leases that the first one made
    lease        of the queues that are open now; claimed and checked by `runtime/ownership`
    wait         while there is nothing, until there is, the time is over, the client has left, or the server stops
    bodies       large ones are fetched, as far as they fit into one answer

A lease call is never cancelled, because nothing else here would hold its messages. If the client has left before the
answer, they are given back uncounted; so is everything that an error leaves behind.

A repeat on the same server waits for the end of the first request, so that no lease is given back which the repeat is
about to answer. One that comes to another server looks twice for the same reason, and finds in the store what the
first one answered (`answers.py`).
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tenure.app import Tenure
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.limit import Limit
from tenure.runtime.ownership import Ownership
from tenure.server.consumers.answers import Answers
from tenure.server.consumers.leased_here import LeasedHere
from tenure.server.consumers.queue_choice import QueueChoice
from tenure.server.consumers.remote_delivery import RemoteDelivery, received
from tenure.text.plural import plural
from tenure.verdict import Reason, Returned, Verdict

logger = logging.getLogger("tenure.consumers")

#: A request waits for so long at once; then it looks whether a queue was paused or resumed.
_WAIT_SECONDS = 5.0
#: So many bytes of large bodies go out with one answer. The first one goes out whatever its size.
_MOST_BODY_BYTES = 32 * 1024 * 1024
#: Another server gives back what it leased for a client that left well within this time.
_GIVING_BACK_SECONDS = 1.0
#: A repeat renews what has less than this part of its lease left.
_WORTH_RENEWING = 2 / 3
_LEFT = Reason("client_left", "the client disconnected before it had the answer")
_SURPLUS = Reason("surplus", "no more large bodies fit into this answer")

Settle = Callable[[Sequence[tuple[RemoteDelivery, Verdict]]], Awaitable[None]]


class LeaseAsk(msgspec.Struct, frozen=True, kw_only=True):
    """One request for messages."""

    owner: str
    #: Names and patterns, as the broker has them.
    queues: tuple[str, ...]
    want: int
    seconds: float
    #: Leases of tasks, where the client leaves the length to them.
    seconds_by_task: dict[str, float] = {}
    wait: float = 0.0
    #: None: the client does not repeat its requests.
    request_id: str | None = None


class Flight:
    """A request on its way: how it may end early."""

    def __init__(self) -> None:
        """Begin."""
        self.over = asyncio.Event()
        #: Set by what ends the wait: the client has left, a repeat has come, the server stops.
        self.must_end = asyncio.Event()
        self.client_left = False
        #: A repeat of this request is here: it takes over what was leased.
        self.is_repeated = False

    def leave(self) -> None:
        """The client has left."""
        self.client_left = True
        self.must_end.set()


class Leasing:
    """The requests of one process."""

    def __init__(
        self, app: Tenure, ownership: Ownership, here: LeasedHere, choice: QueueChoice, settle: Settle
    ) -> None:
        """Lease from the broker of `app`. `settle` ends what no client gets."""
        self._app = app
        self._ownership = ownership
        self._here = here
        self._choice = choice
        self._settle = settle
        self._answers = Answers(app)
        self._flights: dict[tuple[str, str], Flight] = {}
        #: Requests that this process answered, with what it answered; the latest ones.
        self._running: set[asyncio.Task[list[RemoteDelivery]]] = set()

    async def lease(self, ask: LeaseAsk, flight: Flight) -> list[RemoteDelivery]:
        """The messages for one request, each to be sent to the client. Goes on to its end if it is cancelled."""
        task = asyncio.create_task(self._fly(ask, flight))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            flight.leave()
            raise

    async def close(self) -> None:
        """Wait for the requests that go on."""
        await asyncio.gather(*self._running, return_exceptions=True)

    async def give_back(self, deliveries: Sequence[RemoteDelivery], reason: Reason = _LEFT) -> None:
        """Give messages back uncounted, also if the caller is cancelled meanwhile."""
        if not deliveries:
            return
        try:
            await asyncio.shield(self._settle([(one, Returned(0.0, reason)) for one in deliveries]))
        except BrokerError as error:
            many = plural(len(deliveries), "message")
            logger.warning("%s could not be given back (%s); their leases end by themselves", many, error)

    # -- one request -------------------------------------------------------------------------------

    async def _fly(self, ask: LeaseAsk, flight: Flight) -> list[RemoteDelivery]:
        key = None if ask.request_id is None else (ask.owner, ask.request_id)
        earlier = None if key is None else self._flights.get(key)
        if key is not None:
            self._flights[key] = flight
        try:
            if earlier is not None:
                earlier.is_repeated = True
                earlier.must_end.set()
                await earlier.over.wait()
            found = [] if key is None else await self._repeated(ask)
            if not found:
                found = await self._new(ask, flight)
                if ask.request_id is not None and found:
                    await self._answers.keep(ask.owner, ask.request_id, found)
            if flight.client_left and not flight.is_repeated:
                await self.give_back(found)
                return []
            return found
        finally:
            flight.over.set()
            if key is not None and self._flights.get(key) is flight:
                del self._flights[key]

    async def _new(self, ask: LeaseAsk, flight: Flight) -> list[RemoteDelivery]:
        clock = self._app.clock
        until = clock.monotonic() + ask.wait
        while True:
            found = await self._lease_now(ask, ask.want)
            left = until - clock.monotonic()
            if found or left <= 0 or flight.must_end.is_set():
                return found
            await self._wait(ask, min(left, _WAIT_SECONDS), flight)
            if flight.must_end.is_set():
                return []

    async def _lease_now(self, ask: LeaseAsk, want: int) -> list[RemoteDelivery]:
        """What can be had at once: several calls where the broker lends few in one."""
        found: list[RemoteDelivery] = []
        request_id = ask.request_id or os.urandom(8).hex()
        while len(found) < want:
            now_open = await self._choice.open(ask.queues)
            if not now_open.queues:
                return found
            most = min(want - len(found), self._app.broker.traits.batch_limit)
            started = self._app.clock.monotonic()
            try:
                leases = await self._app.broker.lease(
                    LeaseRequest(
                        ask.owner, request_id, now_open.queues, most, ask.seconds, ask.seconds_by_task,
                        excluded=now_open.excluded, limits=now_open.limits,
                    )
                )  # fmt: skip
            except BrokerUnavailable:
                if found:
                    return found
                raise
            found += await self._take(leases, ask.owner, started)
            if len(leases) < most:
                return found
        return found

    async def _take(self, leases: Sequence[Lease], owner: str, started: float) -> list[RemoteDelivery]:
        """Claim, check and fetch; what no client may work on is settled here."""
        if not leases:
            return []
        taken = await self._ownership.take(leases, owner, lambda reading: received(reading, started))
        refused = [(one, verdict) for one, verdict in taken if verdict is not None]
        mine = [one for one, verdict in taken if verdict is None]
        room = _MOST_BODY_BYTES
        for one in list(mine):
            ticket = None if one.message is None else one.message.ticket
            if ticket is None:
                continue
            if ticket.size > room and room < _MOST_BODY_BYTES:
                verdict: Verdict | None = Returned(0.0, _SURPLUS)
            else:
                verdict = await self._ownership.bodies.bring(one)
                room -= ticket.size
            if verdict is not None:
                refused.append((one, verdict))
                mine.remove(one)
        for one in mine:
            self._here.keep(one)
        if refused:
            await self._settle(refused)
        return mine

    async def _wait(self, ask: LeaseAsk, seconds: float, flight: Flight) -> None:
        """Wait until something may be there, or the request must end."""
        now_open = await self._choice.open(ask.queues)
        create = asyncio.create_task
        waiting = create(self._wait_for_messages(now_open.queues, seconds, now_open.excluded, now_open.limits))
        ending = create(flight.must_end.wait())
        try:
            await asyncio.wait((waiting, ending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (waiting, ending):
                one.cancel()
            await asyncio.gather(waiting, ending, return_exceptions=True)
        if not waiting.cancelled() and (error := waiting.exception()) is not None:
            raise error

    async def _wait_for_messages(
        self, queues: Sequence[str], seconds: float, excluded: Sequence[str], limits: dict[str, Limit]
    ) -> None:
        if queues:
            await self._app.broker.wait(queues, seconds, excluded, limits)
        else:
            await asyncio.sleep(seconds)

    # -- a repeat ----------------------------------------------------------------------------------

    async def _repeated(self, ask: LeaseAsk) -> list[RemoteDelivery]:
        """The leases of an earlier request with the same id. Empty: there was none, or all of them have ended."""
        held = await self._held(ask)
        if not held:
            return []
        if any(self._here.get((one.id, one.fence), one.owner) is None for one in held):
            # Another server leased them. It may be giving them back at this moment, because the client left it.
            await asyncio.sleep(_GIVING_BACK_SECONDS)
            held = await self._held(ask)
        held = await self._renewed(held)
        known = [self._here.get((one.id, one.fence), one.owner) for one in held]
        mine = [one for one in known if one is not None]
        for one, lease in zip(known, held, strict=True):
            if one is not None:
                one.lease = msgspec.structs.replace(lease, envelope=one.lease.envelope)
        for one in mine:
            await self._ownership.bodies.bring(one)
        return mine + await self._take_again(
            ask, [lease for lease, one in zip(held, known, strict=True) if one is None]
        )

    async def _take_again(self, ask: LeaseAsk, leases: Sequence[Lease]) -> list[RemoteDelivery]:
        """Take what another server lent to this owner under the same request.

        One whose claim or body is not known here is left as it is: perhaps the client got the first answer and works on
        it. If not, its lease ends, and nothing was counted but a loss.
        """
        if not leases or ask.request_id is None:
            return []
        mine = await self._answers.deliveries(ask.owner, ask.request_id, leases)
        known, started = {one.lease.id for one in mine}, self._app.clock.monotonic()
        readable = [lease for lease in leases if lease.envelope and lease.id not in known]
        taken = await self._ownership.take(readable, ask.owner, lambda reading: received(reading, started))
        mine += [one for one, verdict in taken if verdict is None]
        for one in mine:
            await self._ownership.bodies.bring(one)
            self._here.keep(one)
        return mine

    async def _held(self, ask: LeaseAsk) -> list[Lease]:
        return await self._app.broker.held(ask.owner, ask.request_id)

    async def _renewed(self, held: list[Lease]) -> list[Lease]:
        """Renew what would soon end: a client whose answers are cut again and again still wants it."""
        now = self._app.clock.monotonic()
        is_exact = self._app.broker.traits.settles_exactly_once
        old = [
            one
            for one in held
            if one.remaining(now) < _WORTH_RENEWING * one.seconds
            and (is_exact or self._here.get((one.id, one.fence), one.owner) is not None)
        ]
        if not old:
            return held
        claims = [
            known.claim
            for one in old
            if (known := self._here.get((one.id, one.fence), one.owner)) is not None and known.claim is not None
        ]
        if claims:
            await self._app.state.ledger.renew(claims)
        renewed = {one.id: one for one in await self._app.broker.touch(old)}
        found = [renewed.get(one.id, one) for one in held]
        return [one for one in found if one.state is not LeaseState.LOST]
