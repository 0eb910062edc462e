"""Lending: a lease request made into a script's arguments, and its answer into leases.

Where a few queues are named, each is asked, and each call begins with another one. Patterns and many names are looked
for on the list of queues that have something (`listing.py`), which also says whose turn it is. The count of what was
lent from a queue decides when a lower priority has its turn; it is kept here, in the process.
"""

import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import ResponseError

from tenure.adapters.redis import faults
from tenure.adapters.redis.listing import Listing
from tenure.adapters.redis.roster import holding
from tenure.adapters.redis.script import HELD, LEASE, TOUCH
from tenure.adapters.redis.served import is_few, served
from tenure.adapters.redis.store import Store, micros
from tenure.adapters.redis.strange import sound, text_of
from tenure.broker import BrokerTraits
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, StoreForeign
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters
from tenure.owner import retired

logger = logging.getLogger("tenure.redis")

FIRST_DELIVERY = Counters(deliveries=1)
#: Listed queues that are asked in one step.
_TOGETHER = 50
#: So often the list is read anew where it names queues that turn out to be empty.
_TRIES = 5
#: What a script says of a queue in which a key is not ours, in place of its number.
_FOREIGN = -2


class Lending:
    """Leases, touches, and what an owner holds."""

    def __init__(self, store: Store, traits: BrokerTraits) -> None:
        """Nothing was lent yet."""
        self._store = store
        self.listing = Listing(store)
        self._traits = traits
        self._calls = 0
        self._lent: dict[str, int] = {}
        #: In a cluster: when to ask a queue again that was just asked, in microseconds; below 0: nothing is there.
        self._next: dict[str, int] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        asked = self._store.clock.monotonic()
        want = min(request.want, self._traits.batch_limit)
        if want <= 0 or not request.queues:
            return []
        if is_few(request.queues):
            leases = await self._lease_from_few(request, want, asked)
        else:
            leases = await self._lease_from_listed(request, want, asked)
        if leases:
            await self._make_known({lease.queue for lease in leases})
        return leases

    async def _lease_from_few(self, request: LeaseRequest, want: int, asked: float) -> list[Lease]:
        """Ask each of them, beginning with another one each time."""
        queues = [queue for queue in dict.fromkeys(request.queues) if queue not in request.excluded]
        if not queues:
            return []
        if len(queues) > 1:
            start = self._calls % len(queues)
            self._calls += 1
            queues = queues[start:] + queues[:start]
        if self._store.link.is_cluster:
            return await self._lease_from_each(request, queues, want, asked)
        return await self._lease_from_all(request, queues, want, asked)

    async def _lease_from_listed(self, request: LeaseRequest, want: int, asked: float) -> list[Lease]:
        """Ask those that have something, as the list says. It may be wrong: then it is right now, and asked again."""
        asks = served(request.queues, request.excluded)
        leases: list[Lease] = []
        for _ in range(_TRIES):
            queues = await self.listing.ready(asks, min(want, _TOGETHER), request.owner)
            for start in range(0, len(queues), _TOGETHER):
                some = queues[start : start + _TOGETHER]
                if self._store.link.is_cluster:
                    leases = await self._lease_from_each(request, some, want, asked, by_list=True)
                else:
                    room = self._traits.lease_byte_limit
                    leases = await self._lease(request, some, want, asked, room, by_list=True)
                if leases:
                    return leases
            if not queues:
                break
        return leases

    async def _make_known(self, queues: set[str]) -> None:
        """Only what is known is swept. A sender says it, but seldom, and the server may have lost everything since."""
        try:
            await self._store.make_known(queues)
        except (BrokerError, ConfigurationError) as error:  # what was lent is lent, and must be told
            logger.debug("the next lease says it: %s", error)

    async def _lease_from_all(self, request: LeaseRequest, queues: list[str], want: int, asked: float) -> list[Lease]:
        """In one step. If a key of one of them is not ours, that one is left out."""
        try:
            return await self._lease(request, queues, want, asked, self._traits.lease_byte_limit)
        except StoreForeign:
            if len(queues) == 1:
                raise
        return await self._lease_from_each(request, queues, want, asked)

    async def _lease_from_each(
        self, request: LeaseRequest, queues: list[str], want: int, asked: float, *, by_list: bool = False
    ) -> list[Lease]:
        leases: list[Lease] = []
        foreign: list[StoreForeign] = []
        await self._store.refuse_banned(request.owner)
        room = self._traits.lease_byte_limit
        asked_for = 0
        for queue in queues:
            if len(leases) < want and room > 0:
                asked_for += 1
                try:
                    some = await self._lease(
                        request, [queue], want - len(leases), asked, room, len(leases), by_list=by_list
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

    async def _lease(
        self,
        request: LeaseRequest,
        queues: list[str],
        want: int,
        asked: float,
        room: int,
        lent: int = 0,
        *,
        by_list: bool = False,
    ) -> list[Lease]:
        """Up to `want` messages and `room` bytes; one at least, unless some were `lent` before by the same call."""
        traits = self._traits
        seconds = max(traits.min_lease_seconds, min(traits.max_lease_seconds, request.seconds))
        arguments: list[Any] = [
            request.owner, request.request_id, want, micros(seconds),
            micros(traits.min_lease_seconds), micros(traits.max_lease_seconds),
            int(request.has_presence), room, lent, int(by_list),
            *[self._lent.get(queue, 0) for queue in queues],
        ]  # fmt: skip
        for task, own in request.seconds_by_task.items():
            arguments += (task, micros(own))
        loans = await self._store.run(LEASE, queues, *arguments)
        if loans == -1:
            raise retired(request.owner)
        return self._read(loans, queues, request.owner, asked)

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
        """What else a script has to say."""
        if told[0] == _FOREIGN:
            sound(queues[told[1]], faults.translate_foreign(ResponseError(told[2].decode()), self._store.options.place))
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
        """What `owner` holds, in every queue."""
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
    """What the worker knows of the work, for `lua/touch.lua`."""
    if lease.size is None and lease.predicted_seconds is None:
        return ":"
    size = "" if lease.size is None else repr(float(lease.size))
    return f"{size}:{'' if lease.predicted_seconds is None else repr(float(lease.predicted_seconds))}"


def read_counters(text: bytes) -> Counters:
    """Deliveries, attempts, crashes, lost."""
    return Counters(*map(int, text.split(b":")))


def _by(width: int, values: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(values[start : start + width]) for start in range(0, len(values), width)]
