"""Lending: turns a lease request into a script's arguments, and its answer into leases.

If a few queues are named, each is asked, and each call begins with another one. Patterns and many names are looked up
on the list of non-empty queues (`listing.py`), which also says whose turn it is. The count of messages leased from a
queue decides when a lower priority has its turn; it is kept here, in the process.
"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from redis.exceptions import ResponseError

from tenure.adapters.redis import faults
from tenure.adapters.redis.foreign_keys import sound, text_of
from tenure.adapters.redis.limiting import Limiting, limited
from tenure.adapters.redis.limiting import arguments as limit_arguments
from tenure.adapters.redis.listing import QueueListing
from tenure.adapters.redis.quiet import Heard, QuietQueues
from tenure.adapters.redis.roster import holding
from tenure.adapters.redis.script import HELD, LEASE, LIMITED_LEASE, TOUCH
from tenure.adapters.redis.served import is_few, served
from tenure.adapters.redis.store import RedisStore, micros
from tenure.broker import BrokerTraits
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, StoreForeign
from tenure.lease import Lease, LeaseRequest
from tenure.limit import Limit
from tenure.message import Counters
from tenure.owner import retired

logger = logging.getLogger("tenure.redis")

FIRST_DELIVERY = Counters(deliveries=1)
#: Listed queues that are asked in one step: at most, and at least.
_TOGETHER, _FEWEST = 50, 4
#: This often the list is read again where it names queues that turn out to be empty.
_TRIES = 5
#: What a script says in place of a queue's number: of one in which a key is not ours; and of all that have something.
_FOREIGN, _LISTED = -2, -4
#: And of a limited queue that may not be leased from now.
_CLOSED = -5
#: When something is left in the queues of a call that found less than it asked for, or falls due.
_QUIET = -6


class _Budget(NamedTuple):
    """What a call may still lease in bytes, and how many it has leased: the first one may be of any size."""

    room: int
    lent: int = 0


class RedisLeases:
    """Leases, touches, and what an owner holds."""

    def __init__(self, store: RedisStore, traits: BrokerTraits) -> None:
        """Take the store and the broker's traits; count leases by queue from zero."""
        self._store = store
        self.listing = QueueListing(store)
        self.limiting = Limiting(store)
        self.quiet = QuietQueues(store)
        self._traits = traits
        self._calls = 0
        self._lent: dict[str, int] = {}
        #: In a cluster: when to ask a queue again that was just asked, in microseconds; below 0: nothing is there.
        self._next: dict[str, int] = {}
        #: Listed queues that the next call asks: twice as many as the last one lent from.
        self._width = _TOGETHER

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        asked = self._store.clock.monotonic()
        want = min(request.want, self._traits.batch_limit)
        if want <= 0 or not request.queues:
            return []
        names = limited(request.queues, request.excluded, request.limits) if request.limits else []
        if names:
            leases = await self._lease_limited(request, names, want, asked)
        else:
            leases = await self._lease_unlimited(request, want, _Budget(self._traits.lease_byte_limit), asked)
        if leases and self._store.link.is_cluster:
            await self._make_known({lease.queue for lease in leases})
        return leases

    async def _lease_limited(self, request: LeaseRequest, names: list[str], want: int, asked: float) -> list[Lease]:
        """From limited queues one by one, and from all others together, beginning with another part each time."""
        others = msgspec.structs.replace(
            request,
            queues=tuple(queue for queue in request.queues if queue not in names),
            excluded=(*request.excluded, *names),
        )
        if self._store.link.is_cluster:
            await self._store.refuse_banned(request.owner)
        parts = [part for part in await self.limiting.parts(request, names) if part or others.queues]
        leases: list[Lease] = []
        foreign: list[StoreForeign] = []
        for part in parts:
            budget = _Budget(self._traits.lease_byte_limit - sum(len(one.envelope) for one in leases), len(leases))
            if len(leases) >= want or budget.room <= 0:
                break
            try:
                leases += await self._lease_part(request, others, part, want - len(leases), budget, asked)
            except StoreForeign as error:
                if part:
                    sound(part, error)
                foreign.append(error)
            except BrokerUnavailable as error:
                if not leases:
                    raise
                if error.outcome_unknown:
                    raise faults.in_part(error) from error
                break
        if parts and len(foreign) == len(parts):
            raise foreign[0]
        return leases

    async def _lease_part(
        self, request: LeaseRequest, others: LeaseRequest, part: str, want: int, budget: "_Budget", asked: float
    ) -> list[Lease]:
        """Lease from one limited queue, or from all others."""
        if part:
            return await self._lease(request, [part], want, asked, *budget, limit=request.limits[part])
        return await self._lease_unlimited(others, want, budget, asked)

    async def _lease_unlimited(self, request: LeaseRequest, want: int, budget: "_Budget", asked: float) -> list[Lease]:
        if is_few(request.queues):
            return await self._lease_from_few(request, want, budget, asked)
        return await self._lease_from_listed(request, want, budget, asked)

    async def _lease_from_few(self, request: LeaseRequest, want: int, budget: "_Budget", asked: float) -> list[Lease]:
        """Ask each of them, beginning with another one each time."""
        queues = [queue for queue in dict.fromkeys(request.queues) if queue not in request.excluded]
        if not queues:
            return []
        if len(queues) > 1:
            start = self._calls % len(queues)
            self._calls += 1
            queues = queues[start:] + queues[:start]
        if self._store.link.is_cluster:
            return await self._lease_from_each(request, queues, want, budget, asked)
        if self.quiet.answers_lease(queues):
            return []
        return await self._lease_from_all(request, queues, want, budget, asked)

    async def _lease_from_listed(
        self, request: LeaseRequest, want: int, budget: "_Budget", asked: float
    ) -> list[Lease]:
        """Ask those that have something, as the list says. It may be wrong: then it is right now, and asked again."""
        asks = served(request.queues, request.excluded)
        leases: list[Lease] = []
        for _ in range(_TRIES):
            queues = await self.listing.ready(asks, min(want, self._width), request.owner)
            if not queues:
                break
            if self._store.link.is_cluster:
                leases = await self._lease_from_each(request, queues, want, budget, asked, by_list=True)
            else:
                leases = await self._lease(request, queues, want, asked, *budget, by_list=True)
            if leases:
                lent_from = len({lease.queue for lease in leases})
                self._width = max(_FEWEST, min(2 * lent_from, _TOGETHER))
                break
            self._width = _TOGETHER
            self.listing.doubt()
        return leases

    async def _make_known(self, queues: set[str]) -> None:
        """Register queues for the sweep. Senders do so too, but seldom, and the server may have lost its data since."""
        try:
            await self._store.make_known(queues)
        except (BrokerError, ConfigurationError) as error:  # the leases are made, and must be returned
            logger.debug("could not register the queue names (%s); the next lease retries", error)

    async def _lease_from_all(
        self, request: LeaseRequest, queues: list[str], want: int, budget: "_Budget", asked: float
    ) -> list[Lease]:
        """Lease in one step. A queue with a foreign value under one of its keys is left out."""
        self.quiet.forget(queues)
        try:
            return await self._lease(request, queues, want, asked, *budget, heard=self.quiet.heard(queues))
        except StoreForeign:
            if len(queues) == 1:
                raise
        return await self._lease_from_each(request, queues, want, budget, asked)

    async def _lease_from_each(
        self,
        request: LeaseRequest,
        queues: list[str],
        want: int,
        budget: "_Budget",
        asked: float,
        *,
        by_list: bool = False,
    ) -> list[Lease]:
        leases: list[Lease] = []
        foreign: list[StoreForeign] = []
        await self._store.refuse_banned(request.owner)
        room, before = budget
        asked_for = 0
        for queue in queues:
            if len(leases) < want and room > 0:
                asked_for += 1
                try:
                    some = await self._lease(
                        request, [queue], want - len(leases), asked, room, before + len(leases), by_list=by_list
                    )
                    leases += some
                    room -= sum(len(lease.envelope) for lease in some)
                except StoreForeign as error:
                    sound(queue, error)
                    foreign.append(error)
                except BrokerUnavailable as error:
                    if leases and not error.outcome_unknown:
                        break  # a queue whose server is away must not keep what others have lent
                    if leases:
                        raise faults.in_part(error) from error
                    raise
        if by_list:
            # One whose server is away, or whose keys are not ours, is found again when all queues are looked at.
            next_in = {queue: self._next.pop(queue, -1) for queue in queues[:asked_for]}
            await self._store.list_again(next_in, asked=True)
        elif len(foreign) == len(queues):
            raise foreign[0]
        return leases

    async def _lease(  # noqa: PLR0913 - everything that one script is asked
        self,
        request: LeaseRequest,
        queues: list[str],
        want: int,
        asked: float,
        room: int,
        lent: int = 0,
        *,
        by_list: bool = False,
        limit: Limit | None = None,
        heard: Heard | None = None,
    ) -> list[Lease]:
        """Up to `want` messages and `room` bytes; one at least, unless some were `lent` before by the same call.

        `heard`: what was said about these queues before, if the answer may say that nothing is left in them.
        """
        traits = self._traits
        seconds = max(traits.min_lease_seconds, min(traits.max_lease_seconds, request.seconds))
        arguments: list[Any] = [
            request.owner, request.request_id, want, micros(seconds),
            micros(traits.min_lease_seconds), micros(traits.max_lease_seconds),
            int(request.has_presence), room, lent, self.listing.ask_for(self._width) if by_list else "",
        ]  # fmt: skip
        known = self._store.knows(queues)
        for queue, is_known in zip(queues, known, strict=True):
            before = self._lent.get(queue, 0)
            arguments.append(before if is_known else -1 - before)
        for task, own in request.seconds_by_task.items():
            arguments += (task, micros(own))
        if limit is not None:
            arguments += limit_arguments(limit)
        loans = await self._store.run(LEASE if limit is None else LIMITED_LEASE, queues, *arguments)
        if loans == -1:
            raise retired(request.owner)
        leases = self._read(loans, queues, request.owner, asked)
        if loans and loans[-1][0] == _QUIET:
            self.quiet.note(queues, heard, loans[-1][1])
        if not self._store.link.is_cluster:
            lent_from = {lease.queue for lease in leases}
            new = [queue for queue, is_known in zip(queues, known, strict=True) if not is_known and queue in lent_from]
            self._store.note_known(new)
        return leases

    def _read(self, loans: list[Any], queues: list[str], owner: str, asked: float) -> list[Lease]:
        leases: list[Lease] = []
        for loan in loans:
            if loan[0] < 0:
                self._note(loan, queues)
                continue
            number, raw_fence, window, ids, raws, told = loan
            queue, fence, seconds = queues[number], int(raw_fence), int(window) / 1e6
            deadline = asked + seconds
            self._lent[queue] = self._lent.get(queue, 0) + len(ids)
            counters = [FIRST_DELIVERY] * len(ids)
            for place, text in zip(told[::2], told[1::2], strict=True):
                counters[place] = read_counters(text)
            leases += [
                Lease(id.decode(), queue, raw, owner, fence, fence, seconds, deadline, counted)
                for id, raw, counted in zip(ids, raws, counters, strict=True)
            ]
        return leases

    def _note(self, told: list[Any], queues: list[str]) -> None:
        """Read the last part of a lease script's answer."""
        if told[0] == _FOREIGN:
            sound(queues[told[1]], faults.translate_foreign(ResponseError(told[2].decode()), self._store.options.place))
        elif told[0] in (_CLOSED, _QUIET):
            return  # its limit allows nothing now: `wait` will tell when it does; and `_lease` reads what is left
        elif told[0] == _LISTED:
            self.listing.hear(told[1])
        else:
            self._next[queues[-1]] = told[1]

    async def touch(self, leases: Sequence[Lease]) -> list[bool]:
        """Move the deadlines; whether each is still held."""
        store = self._store
        by_queue: dict[str, dict[tuple[int, str, float], list[int]]] = {}
        for place, lease in enumerate(leases):
            loans = by_queue.setdefault(lease.queue, {})
            loans.setdefault((lease.fence, lease.owner, lease.seconds), []).append(place)
        calls, places = [], []
        for queue, loans in by_queue.items():
            arguments: list[Any] = []
            own: list[int] = []
            for (fence, owner, seconds), members in loans.items():
                told = [_told(leases[one]) for one in members]
                is_told = any(one != ":" for one in told)
                arguments += (fence, owner, micros(seconds), len(members), int(is_told))
                arguments += [leases[one].id for one in members]
                arguments += told if is_told else ()
                own += members
            calls.append(store.call(TOUCH, [queue], arguments))
            places.append(own)
        held = [False] * len(leases)
        for own, answer in zip(places, await store.run_all(calls), strict=True):
            for n, place in enumerate(own):
                held[place] = isinstance(answer, int) or bool(answer[n])
        return held

    async def held(self, owner: str, request_id: str | None) -> list[Lease]:
        """Return the leases that `owner` holds, in every queue."""
        store = self._store
        asked = store.clock.monotonic()
        queues = await holding(store, owner, "look")
        request = "*" if request_id is None else f"={request_id}"
        answers = await store.run_each([store.call(HELD, [queue], (owner, request)) for queue in queues], writes=False)
        return [
            Lease(
                text_of(id), queue, raw, owner, int(fence), int(fence), int(window) / 1e6, asked + int(left) / 1e6,
                read_counters(counters) if counters else FIRST_DELIVERY,
            )
            for queue, reply in zip(queues, answers, strict=True)
            if sound(queue, reply)
            for id, raw, fence, window, left, counters in _by(6, reply)
        ]  # fmt: skip


def _told(lease: Lease) -> str:
    """Encode the worker's size and predicted seconds for `lua/touch.lua`."""
    if lease.size is None and lease.predicted_seconds is None:
        return ":"
    size = "" if lease.size is None else repr(float(lease.size))
    return f"{size}:{'' if lease.predicted_seconds is None else repr(float(lease.predicted_seconds))}"


def read_counters(text: bytes) -> Counters:
    """Deliveries, attempts, crashes, lost."""
    return Counters(*map(int, text.split(b":")))


def _by(width: int, values: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(values[start : start + width]) for start in range(0, len(values), width)]
