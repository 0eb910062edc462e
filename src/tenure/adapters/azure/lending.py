"""Lending: received, then entered; entered first, then lent.

A receive hides up to 32 messages. A message that the queue shows for the first time has no life yet: one call inserts
the lives of all of them, and whoever inserts one has that message. The others are looked at one by one: lent again if
they wait, hidden again if somebody holds them or they are not due, deleted if they are finished. A receive whose reply
is lost hides its messages for one lease, uncounted; what was entered is found by `held`.

Before: `sending.py`, or a return. After: `settling.py`, or `returning.py` if the holder does not come back.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from tenure.adapters.azure import ghosts, posting, wire
from tenure.adapters.azure.arrival import Arrival, read_arrival
from tenure.adapters.azure.entry import Kept, Life
from tenure.adapters.azure.holding import TRIES, lease_of
from tenure.adapters.azure.polling import longest_pause, shares_of
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.roster import is_banned
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import TRAITS, clamped_lease
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState
from tenure.owner import retired

#: A timer may fire a hair before its time.
EARLY = 1e-3
#: Who finds nothing asks this often whether it was declared dead.
_ASK_SECONDS = 5.0
#: So few queues are all asked by a call that comes before it is the turn of any.
_FEW = 10
#: So many queues are asked by one call.
_MOST_ASKED = 64


class _Call:
    """One call of `lease` under way."""

    __slots__ = ("fence", "is_begun", "left", "lent", "request", "seconds")

    def __init__(self, request: LeaseRequest, seconds: float, fence: int, left: int) -> None:
        self.request = request
        self.seconds = seconds
        self.fence = fence
        self.left = left
        self.lent: list[tuple[Kept, bytes]] = []
        #: Something may have been entered.
        self.is_begun = False

    def add(self, lent: list[tuple[Kept, bytes]]) -> None:
        """These are lent too."""
        self.lent += lent
        self.left -= len(lent)


class Lending:
    """What is lent, and to whom."""

    def __init__(self, store: Store, take_back: Callable[[Sequence[Kept]], Awaitable[object]]) -> None:
        """Stand on `store`; `take_back` returns what was lent to one who is declared dead."""
        self._store = store
        self._take_back = take_back
        self._turn = 0
        self._asked = -_ASK_SECONDS

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want`, in one receive for each queue that is asked, and one change for what came."""
        store = self._store
        before = store.clock.monotonic()
        seconds = clamped_lease(request.seconds)
        call = _Call(request, seconds, store.shared.next_number(), min(request.want, TRAITS.batch_limit))
        queues = await store.known_queues.served(request.queues, request.excluded)
        try:
            if len(queues) == 1:
                await self._ask_one(call, queues[0])
            else:
                await self._ask_many(call, queues)
            if call.lent:
                store.look_soon()  # there is something to do
            await self._check(request.owner, call.lent, before)
        except BrokerUnavailable as error:
            # Some of it may have been entered already, and nobody else looks after that.
            if call.is_begun:
                raise _in_part(error) from error
            raise
        return [lease_of(kept, raw, before + seconds) for kept, raw in call.lent]

    async def _ask_one(self, call: "_Call", queue: str) -> None:
        await self._take_returned(call, queue)
        if call.left > 0:
            await self._receive(call, [(queue, call.left)])

    async def _ask_many(self, call: "_Call", queues: Sequence[str]) -> None:
        """Ask those whose turn it is, side by side, for no more than there is room for."""
        store, polling = self._store, self._store.shared.polling
        returned = store.shared.returned
        for queue in [queue for queue in list(returned) if returned[queue] and queue in queues]:
            await self._take_returned(call, queue)
        self._turn += 1
        start = self._turn % len(queues) if queues else 0
        due = polling.due([*queues[start:], *queues[:start]], store.clock.monotonic())
        if not due and len(queues) <= _FEW and store.clock.monotonic() - store.waited_at > EARLY:
            due = list(queues)  # whoever waited has looked; somebody who asks without waiting gets an answer of few
        longest, asked = longest_pause(store.options.poll_seconds, len(queues)), 0
        while due and call.left > 0 and asked < _MOST_ASKED:
            shares = shares_of(due, call.left, polling)
            asked += len(shares)
            await self._receive(call, shares, longest)
            # One that gave all that it was asked for has perhaps more; the others come first.
            due = [*due[len(shares) :], *(queue for queue, _ in shares if polling.is_busy(queue))]

    async def _take_returned(self, call: "_Call", queue: str) -> None:
        if call.left > 0:
            call.is_begun = call.is_begun or bool(self._store.shared.returned[queue])
            call.add(await self._returned(queue, call.left, call.request, call.seconds, call.fence))

    async def _receive(self, call: "_Call", shares: list[tuple[str, int]], longest: float | None = None) -> None:
        """Receive, then enter what came. With `longest`, note when each queue is to be asked again."""
        store = self._store
        acts = [partial(self._ask, call, queue, want, longest) for queue, want in shares]
        told = [await acts[0]()] if len(acts) == 1 else await store.each(acts)
        arrivals = [one for some in told if not isinstance(some, BaseException) for one in some]
        if arrivals:
            call.is_begun = True
            call.add(await self._enter(arrivals, call.request, call.seconds, call.fence))
            await store.known_queues.register({one.queue for one in arrivals})
        for some in told:
            if isinstance(some, BaseException):
                raise some

    async def _ask(self, call: "_Call", queue: str, want: int, longest: float | None) -> list[Arrival]:
        store, polling = self._store, self._store.shared.polling
        if longest is None:
            return [read_arrival(queue, one) for one in await posting.receive(store, queue, want, call.seconds)]
        stirs = polling.ask(queue, store.clock.monotonic())
        got = 0
        try:
            may_lack = queue not in call.request.queues
            found = await posting.receive(store, queue, want, call.seconds, may_lack=may_lack)
            got = len(found)
        finally:
            polling.answered(queue, stirs, store.clock.monotonic(), got=got, want=want, longest=longest)
        return [read_arrival(queue, one) for one in found]

    async def _check(self, owner: str, lent: list[tuple[Kept, bytes]], now: float) -> None:
        """Whoever was declared dead gets nothing.

        Asked after the lives were entered: a retirement first bans, then looks for lives. One of us sees the other.
        """
        if not lent and now - self._asked < _ASK_SECONDS:
            return
        self._asked = now
        if await is_banned(self._store, owner):
            await self._take_back([kept for kept, _ in lent])
            raise retired(owner)

    async def _returned(
        self, queue: str, want: int, request: LeaseRequest, seconds: float, fence: int
    ) -> list[tuple[Kept, bytes]]:
        """What this process returned a moment ago comes before the backlog: taken by its receipt, without a receive."""
        store, lent = self._store, list[tuple[Kept, bytes]]()
        waiting = store.shared.returned[queue]
        for _ in range(len(waiting)):
            if len(lent) >= want or not waiting:  # others take from it too, while we wait for answers
                break
            id = waiting.popleft()
            kept = store.shared.recall(id)
            life = kept.life if kept is not None else None
            if kept is None or life is None or life.state not in _WAITING or not life.receipt:
                continue
            if (life.due or 0.0) > store.timeline.now() + EARLY:
                waiting.append(id)
                continue
            try:
                receipt = await posting.hide(store, queue, life.message_id, life.receipt, seconds)
            except Stale:
                store.shared.forget(id)
                continue
            new = lend(store, kept, request, seconds, fence)
            new.life.receipt = receipt
            if (await store.save([new]))[0]:
                lent.append((new, await store.envelope(new)))
        return lent

    async def _enter(
        self, arrivals: list[Arrival], request: LeaseRequest, seconds: float, fence: int
    ) -> list[tuple[Kept, bytes]]:
        store = self._store
        new = {one.id: one for one in reversed(arrivals) if one.is_new}
        fresh = [new[one.id] for one in arrivals if new.get(one.id) is one]
        lives = [_begin(store, one, request, seconds, fence) for one in fresh]
        entered = await store.save(lives, "insert")
        done: dict[int, tuple[Kept, bytes]] = {}
        for one, kept, mine in zip(fresh, lives, entered, strict=True):
            if mine:
                done[id(one)] = (kept, one.raw or b"")
        others = [one for one in arrivals if id(one) not in done]
        told = await store.each([partial(self._look, one, request, seconds, fence) for one in others])
        failure: BaseException | None = None
        for one, answer in zip(others, told, strict=True):
            if isinstance(answer, BaseException):
                failure = failure or answer
            elif answer is not None:
                done[id(one)] = (answer, (answer.envelope or b"") if one.raw is None else one.raw)
        if failure is not None:
            raise failure
        return [done[id(one)] for one in arrivals if id(one) in done]

    async def _look(self, one: Arrival, request: LeaseRequest, seconds: float, fence: int) -> Kept | None:
        """Lend what waits; put everything else where it belongs."""
        store = self._store
        for _ in range(TRIES):
            kept = await store.find(one.id)
            if kept is None:
                begun = _begin(store, one, request, seconds, fence)
                if (await store.save([begun], "insert"))[0]:
                    return begun
                continue
            life = kept.life
            if ghosts.is_copy(life, one.message_id) or life.state in ghosts.FINISHED:
                await ghosts.finish(store, kept, one)
                return None
            until = life.deadline if life.state is MessageState.LEASED else life.due
            now = store.timeline.now()
            if life.state is MessageState.LEASED or (until or 0.0) > now + EARLY:
                # Overdue, but nobody returned it yet: that is for a sweep to decide, which knows of outages.
                await ghosts.hide_again(store, kept, one, max(1.0, (until or now) - now))
                return None
            new = lend(store, kept, request, seconds, fence)
            new.life.message_id, new.life.receipt = one.message_id, one.receipt
            if (await store.save([new]))[0]:
                return new
        return None  # it is hidden for one lease, and then comes again


_WAITING = frozenset({MessageState.READY, MessageState.DELAYED})


def lend(store: Store, kept: Kept, request: LeaseRequest, seconds: float, fence: int) -> Kept:
    """The life as it is once it is lent, to be saved."""
    old = kept.life
    life = msgspec.structs.replace(
        old,
        state=MessageState.LEASED,
        owner=request.owner,
        fence=max(fence, old.fence + 1),
        request_id=request.request_id,
        seconds=seconds,
        deadline=store.timeline.latest() + seconds,
        leased_at=store.timeline.now(),
        last_beat=None,
        beats=0,
        size=None,
        predicted_seconds=None,
        lacks_presence=not request.has_presence,
        is_graced=False,
        due=None,
        deliveries=old.deliveries + 1,
    )
    return Kept(life, kept.etag, kept.envelope, kept.checkpoint)


def _begin(store: Store, one: Arrival, request: LeaseRequest, seconds: float, fence: int) -> Kept:
    """The life of a message that is lent for the first time."""
    place = store.shared.next_number()
    life = Life(id=one.id, queue=one.queue, place=place, state=MessageState.READY, task=one.task)
    life.is_foreign = one.is_foreign
    life.wire = "" if one.wire == wire.ENVELOPE else one.wire
    life.sent_at, life.asked = one.sent_at, one.asked
    kept = lend(store, Kept(life, "", one.raw if one.is_foreign else None), request, seconds, fence)
    kept.life.message_id, kept.life.receipt = one.message_id, one.receipt
    return kept


def _in_part(failure: BrokerUnavailable) -> BrokerUnavailable:
    """`held` will tell what was lent."""
    return failure if failure.outcome_unknown else BrokerUnavailable(str(failure), outcome_unknown=True)
