"""The prefetch: copies that came while nobody had asked to lease them yet.

Waiting for work is a long poll, and a long poll brings the work. What it brings lies here, hidden in its queue, until
`lease` takes it a moment later; it counts as lent only then. What nobody takes within seconds (the work of another
queue came first, and there is no room for more) is put back for others. A poll is never broken off, because the copies
that it would bring would be nobody's until their visibility ends. Before: `broker.wait`. After: `receiving.py`.

A worker on many queues has up to a hundred polls under way, each of 1 to 5 seconds; which queues are polled when is
said by `poll_rhythm.py`. So an idle queue among up to 3,000 is asked at least every 30 seconds.
"""

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

from tenure.clock import Clock, SystemClock
from tenure.delivery_queue import CopyReceipt, DeliveryQueue, PhysicalQueue, ReceivedCopy
from tenure.errors import BrokerUnavailable, TenureError
from tenure.rowstore.poll_rhythm import BOUND_SECONDS, Rhythm

#: Where time is virtual a long poll would take real seconds: there is a pause between two looks, of at most so long.
#: It differs each time, because delays are whole seconds, and those in step with them would be the first for ever.
_LOOK_SECONDS = 0.5
#: Where a receive does not wait, there are pauses between two looks at an empty queue: from this, each so much longer
#: than the one before, and from one wait to the next as long as before, until something comes.
_FIRST_PAUSE, _LONGER = 0.05, 1.6
#: A receive that ended so lately was a look.
_LATELY_SECONDS = 0.05
#: Of many queues, so many are each asked as often as one would be; more of them in proportion seldomer, up to so much.
_OFTEN, _SELDOM = 10, 30
#: What nobody took for so long is put back.
_FRESH_SECONDS = 2.0
#: No poll is shorter: whoever waits next waits for the same one, and each is paid for. Nor much longer, because `close`
#: waits for it.
_POLLED_SECONDS = 5.0
#: A lease call that has nothing else to ask waits so long: short enough to stop soon.
_GLANCE_SECONDS = 1.0
#: A poll may answer so much later than it was asked to.
_LATE_SECONDS = 2.0
#: So long after a poll that found nothing there is no need to look.
_KNOWN_SECONDS = 0.5


#: So many polls are under way at once, where a worker serves many queues.
CALLS = 100
#: A poll of one queue among many waits so long, if there are not more than fit into the rhythm.
_LONGEST_AMONG_MANY, _SHORTEST = 5.0, 1.0
#: A lease call asks so often, ten queues at a time, those that probably have something, until it has enough.
_ROUNDS, _AT_ONCE = 10, 10
#: A poll of one queue among many asks for so much of a lease call: a full queue is asked again at once.
_SHARE = 4
#: Whoever waits for patterns looks at least so often which queues there are.
_NAMES_SECONDS = 5.0

#: The physical queues that are served at this moment.
Served = Callable[[], Awaitable[Collection[PhysicalQueue]]]


class Prefetch:
    """Copies by physical queue, and the polls under way."""

    def __init__(self, queue: DeliveryQueue, clock: Clock, *, is_virtual: bool | None = None) -> None:
        """Nothing is polled yet. `is_virtual`: a receive does not wait; told by the clock unless it is said."""
        self._queue = queue
        self._clock = clock
        self._is_virtual = not isinstance(clock, SystemClock) if is_virtual is None else is_virtual
        #: The most that a receive waits for a first copy. 0: it does not wait.
        self._longest_poll = 0 if self._is_virtual else queue.traits.poll_seconds
        #: When each queue is asked, where they are many.
        self._rhythm = Rhythm()
        #: Why queues could not be asked the last time.
        self._failed: dict[PhysicalQueue, TenureError] = {}
        #: Where a receive does not wait: the next pause between two looks at these queues; when each was last found
        #: empty, and what had been heard of it then; how often anything was heard; and when something will be there.
        self._pauses: dict[frozenset[PhysicalQueue], float] = {}
        self._looks: dict[PhysicalQueue, tuple[float, int]] = {}
        self._heard: dict[PhysicalQueue, int] = {}
        self._dues: dict[PhysicalQueue, float] = {}
        #: Set when a poll among many has ended, or something was heard of a queue.
        self._news = asyncio.Event()
        self._copies: dict[PhysicalQueue, list[ReceivedCopy]] = {}
        self._returns: set[asyncio.Task[None]] = set()
        #: Until when a poll answers for its queue, and there is no need to ask it otherwise.
        self._answers_until: dict[PhysicalQueue, float] = {}
        self._polls: dict[PhysicalQueue, asyncio.Task[None]] = {}
        #: As the last lease call asked: how many, and hidden for how long.
        self.want, self.visibility = queue.traits.batch, 40

    @property
    def glance_seconds(self) -> float:
        """How long a lease call may wait at a queue: SQS then asks all of its servers, and not only some."""
        return min(_GLANCE_SECONDS, self._longest_poll)

    def take(self, physical: PhysicalQueue) -> list[ReceivedCopy]:
        """The copies of one physical queue."""
        return self._copies.pop(physical, [])

    def is_polled(self, physical: PhysicalQueue) -> bool:
        """Whether a poll is under way that will bring what there is, or has just found nothing."""
        return self._clock.monotonic() < self._answers_until.get(physical, 0.0)

    async def wait(self, physicals: Sequence[PhysicalQueue], seconds: float) -> None:
        """Return when something came, or after `seconds`."""
        until = self._clock.monotonic() + seconds
        if not self._queue.traits.poll_seconds:
            await self._look_until(physicals, until)
            return
        while not any(self._copies.get(physical) for physical in physicals):
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            polls = [self._poll(physical, left) for physical in physicals]
            await asyncio.wait(
                polls, timeout=left if not self._is_virtual else None, return_when=asyncio.FIRST_COMPLETED
            )
            for poll in polls:
                if poll.done() and poll.exception() is not None:
                    raise poll.exception() or BrokerUnavailable("")
            if any(self._copies.get(physical) for physical in physicals):
                return
            if self._is_virtual:
                await asyncio.sleep(min(_LOOK_SECONDS * random.uniform(0.6, 1.0), left))  # noqa: S311 - no secret

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        """What a queue gives at once. That is a look, too: whoever waits next need not look again."""
        heard = self._heard.get(physical, 0)
        copies = await self._queue.receive(physical, want, visibility, wait)
        if copies:
            self._pauses.clear()
        else:
            self._looks[physical] = self._clock.monotonic(), heard
        return copies

    async def _look_until(self, physicals: Sequence[PhysicalQueue], until: float) -> None:
        """Look at queues whose receives do not wait, pause, look again."""
        served, longest = frozenset(physicals), self._queue.traits.longest_pause_seconds
        pause = self._pauses.get(served, _FIRST_PAUSE)
        begun = {physical: self._heard.get(physical, 0) for physical in served}
        is_looked_at = all(self._has_looked(physical) for physical in served)
        while not any(self._copies.get(physical) for physical in physicals):
            if not is_looked_at:
                polls = [self._poll(physical, 0.0) for physical in physicals]
                await asyncio.wait(polls)
                for poll in polls:
                    poll.result()
                if any(self._copies.get(physical) for physical in physicals):
                    return
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            if await self._pause(served, begun, min(pause, left)):
                self._pauses.pop(served, None)
                return  # whoever leases now looks
            is_looked_at = pause >= left  # likewise
            pause = min(pause * _LONGER, longest)
            self._pauses[served] = pause

    def _has_looked(self, physical: PhysicalQueue) -> bool:
        at, heard = self._looks.get(physical, (-math.inf, 0))
        return self._clock.monotonic() - at < _LATELY_SECONDS and heard == self._heard.get(physical, 0)

    async def _pause(self, served: Collection[PhysicalQueue], begun: dict[PhysicalQueue, int], seconds: float) -> bool:
        """Wait before the next look. True: this process has put something into one of them, or it is due now."""
        until = self._clock.monotonic() + seconds
        while True:
            self._news.clear()
            now = self._clock.monotonic()
            for physical in [physical for physical in served if self._dues.get(physical, math.inf) <= now]:
                del self._dues[physical]
                return True
            if any(self._heard.get(physical, 0) != number for physical, number in begun.items()):
                return True
            if now >= until:
                return False
            due = min((self._dues.get(physical, math.inf) for physical in served), default=math.inf)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(until, due) - now):
                    await self._news.wait()

    # -- many queues ---------------------------------------------------------------------------------

    def heard(self, physicals: Iterable[PhysicalQueue], delay: float = 0.0) -> None:
        """Something was put into these by this process, to be seen after `delay` seconds."""
        now = self._clock.monotonic()
        for physical in physicals:
            self._rhythm.heard(physical, now + delay, now)
            if delay > 0:
                self._dues[physical] = min(self._dues.get(physical, math.inf), now + delay)
            else:
                self._heard[physical] = self._heard.get(physical, 0) + 1
        self._news.set()

    async def lend(self, served: Collection[PhysicalQueue], want: int, visibility: int) -> list[ReceivedCopy]:
        """Up to `want` copies of many queues: what polls brought, then what those give that probably have something.

        All others are polled in the background as the rhythm says, so that a busy queue does not hide them.
        """
        copies = self._take_some(served, want)
        for _ in range(_ROUNDS):
            wanted = want - len(copies)
            hot = self._rhythm.hot(served, self._polls, wanted, self._clock.monotonic())[:_AT_ONCE]
            if not hot:
                break
            # Where each copy that is put back is a request, no more than are wanted; who gave its share is asked again.
            share = wanted if self._queue.traits.poll_seconds else max(1, wanted // len(hot))
            for physical, some in zip(
                hot, await asyncio.gather(*(self._ask(physical, share, visibility) for physical in hot)), strict=True
            ):
                self._keep(physical, some)
            copies += self._take_some(served, want - len(copies))
        if sum(map(len, self._copies.values())) < self._queue.traits.batch:
            self._launch(served)
        if not copies:
            self._raise_if_none_answers(served)
        return copies

    async def wait_among(self, served: Served, seconds: float) -> None:
        """Return when something came of the many queues that are served, or after `seconds`."""
        until = self._clock.monotonic() + seconds
        while True:
            self._news.clear()
            physicals = await served()
            if any(physical in physicals for physical, copies in self._copies.items() if copies):
                return
            now = self._clock.monotonic()
            if self._rhythm.has_hot(physicals, self._polls, now):  # what is polled already will be brought
                return
            self._raise_if_none_answers(physicals)
            if now >= until:
                return
            self._launch(physicals)
            due = self._rhythm.next_due(physicals, now)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(until - now, due - now, _NAMES_SECONDS)):
                    await self._news.wait()

    def _take_some(self, served: Collection[PhysicalQueue], want: int) -> list[ReceivedCopy]:
        """Copies of these queues, those first that came first; one queue does not take all if others have some."""
        waiting = [physical for physical, copies in self._copies.items() if copies and physical in served]
        taken: list[ReceivedCopy] = []
        for left, physical in zip(range(len(waiting), 0, -1), waiting, strict=True):
            share = -(-(want - len(taken)) // left)
            here = self._copies.pop(physical)
            taken += here[:share]
            if here[share:]:
                self._copies[physical] = here[share:]  # behind the others
        return taken

    async def _ask(self, physical: PhysicalQueue, want: int, visibility: int) -> list[ReceivedCopy]:
        """What a queue gives at once."""
        began = self._clock.monotonic()
        try:
            copies = await self._queue.receive(physical, want, visibility)
        except TenureError as error:
            self._note_failure(physical, error)
            return []
        self._note_end(physical, began, len(copies), want)
        return copies

    def _launch(self, served: Collection[PhysicalQueue]) -> None:
        """Begin the polls that are due, as many as may be under way."""
        traits = self._queue.traits
        # Where a receive does not wait, few at a time are enough; and more than one lease call wants is put back, which
        # is a request for each copy there.
        room = (CALLS if traits.poll_seconds else _SHARE) - len(self._polls)
        if room <= 0 or not served or (not traits.poll_seconds and any(self._copies.values())):
            return
        # So that each gets its turn within the rhythm's bound, however many there are.
        wait = min(_LONGEST_AMONG_MANY, max(_SHORTEST, CALLS * BOUND_SECONDS // len(served)))
        if not traits.poll_seconds:
            longest = traits.longest_pause_seconds
            self._rhythm.bound = longest * min(max(1.0, len(served) / _OFTEN), _SELDOM)
        for physical in self._rhythm.due(served, self._clock.monotonic()):
            if room <= 0:
                return
            if physical not in self._polls:
                poll = self._polls[physical] = asyncio.ensure_future(self._poll_among(physical, wait))
                poll.add_done_callback(lambda _, physical=physical: self._end_poll(physical))  # type: ignore[misc]
                room -= 1

    def _end_poll(self, physical: PhysicalQueue) -> None:
        """First make room for another poll, then wake who begins it: one that is woken too early finds no room."""
        self._polls.pop(physical, None)
        self._news.set()

    async def _poll_among(self, physical: PhysicalQueue, wait: float) -> None:
        """One poll of one queue among many; what it brings lies here."""
        wait = min(wait, self._longest_poll)
        want = max(1, self.want // _SHARE)
        began = self._clock.monotonic()
        try:
            copies = await self._queue.receive(physical, want, self.visibility + math.ceil(wait), wait)
        except TenureError as error:
            self._note_failure(physical, error)
        else:
            self._note_end(physical, began, len(copies), want)
            self._keep(physical, copies)

    def _note_end(self, physical: PhysicalQueue, began: float, count: int, want: int) -> None:
        self._failed.pop(physical, None)
        self._rhythm.ended(physical, began, self._clock.monotonic(), count, want)

    def _note_failure(self, physical: PhysicalQueue, error: TenureError) -> None:
        """One queue among many that cannot be asked does not stop the others."""
        if type(self._failed.get(physical)) is not type(error):
            logger = logging.getLogger(self._queue.traits.logger)
            logger.warning("queue %s cannot be polled; skipping it for a while: %s", physical.queue, error)
        self._failed[physical] = error
        self._rhythm.failed(physical, self._clock.monotonic())

    def _raise_if_none_answers(self, served: Collection[PhysicalQueue]) -> None:
        if served and all(physical in self._failed for physical in served):
            failed = [self._failed.pop(physical) for physical in served]
            raise failed[0]

    # ------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Wait for the polls under way, and put everything back."""
        if self._polls:
            await asyncio.gather(*self._polls.values(), return_exceptions=True)
        if self._returns:
            for task in self._returns:
                task.cancel()
            await asyncio.gather(*self._returns, return_exceptions=True)
        copies = [copy for some in self._copies.values() for copy in some]
        self._copies.clear()
        await self._put_back(copies)

    async def _put_back(self, copies: Sequence[ReceivedCopy]) -> None:
        with contextlib.suppress(TenureError):  # they come back by themselves
            await self._queue.hide([CopyReceipt(copy.physical, copy.receipt) for copy in copies])

    async def _return(self, physical: PhysicalQueue, copies: Sequence[ReceivedCopy]) -> None:
        """Put back what is still here after a while."""
        await asyncio.sleep(_FRESH_SECONDS)
        here = self._copies.get(physical, [])
        left = [copy for copy in copies if copy in here]
        if left:
            self._copies[physical] = [copy for copy in here if copy not in left]
            await self._put_back(left)

    def _poll(self, physical: PhysicalQueue, seconds: float) -> "asyncio.Task[None]":
        known = self._polls.get(physical)
        if known is not None:
            return known
        poll = self._polls[physical] = asyncio.ensure_future(self._receive(physical, seconds))
        poll.add_done_callback(lambda _: self._polls.pop(physical, None))
        return poll

    async def _receive(self, physical: PhysicalQueue, seconds: float) -> None:
        wait = min(max(_POLLED_SECONDS, math.ceil(seconds)), self._longest_poll)
        self._answers_until[physical] = self._clock.monotonic() + wait + _LATE_SECONDS if wait else 0.0
        is_empty = False
        try:
            # The time until the first one comes is not to be taken from its visibility.
            copies = await self.receive(physical, self.want, self.visibility + math.ceil(wait), wait)
            is_empty = bool(wait) and not copies
        finally:
            self._answers_until[physical] = self._clock.monotonic() + _KNOWN_SECONDS if is_empty else 0.0
        self._keep(physical, copies)

    def _keep(self, physical: PhysicalQueue, copies: Sequence[ReceivedCopy]) -> None:
        """Let copies lie here for a while."""
        if not copies:
            return
        self._copies.setdefault(physical, []).extend(copies)
        task = asyncio.ensure_future(self._return(physical, copies))
        self._returns.add(task)
        task.add_done_callback(self._returns.discard)
