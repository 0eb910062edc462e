"""How many messages wait in a queue, estimated by a sender on a broker that cannot count as it stores.

For brokers without the trait `waiting_is_counted`. Of a queue that has a limit the service's own count is read every
`WAITING_KNOWN_SECONDS`, and what this process sent since is added. So several processes together may pass the limit by
what they send within that time, and a queue from which much was taken since refuses for so long.

Used by the brokers in `rowstore` and `adapters/azure`, around their own `send`.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tenure.broker import WAITING_KNOWN_SECONDS, Sent
from tenure.clock import Clock
from tenure.message import Outgoing
from tenure.rules.rejections import queue_full

Send = Callable[[Sequence[Outgoing]], Awaitable[list[Sent]]]
#: How many wait in a queue. None: that cannot be asked, so nothing is refused.
Count = Callable[[str], Awaitable[int | None]]
#: Which of these ids were sent before.
Known = Callable[[Sequence[str]], Awaitable[set[str]]]


class _Counted(NamedTuple):
    waiting: int | None
    #: Monotonic.
    at: float


class WaitingEstimate:
    """What is known of the limited queues to which one process sends."""

    def __init__(self, clock: Clock) -> None:
        """Begin with nothing known."""
        self._clock = clock
        self._counted: dict[str, _Counted] = {}
        #: What was taken since the count, by queue.
        self._sent: dict[str, int] = {}

    async def send(self, batch: Sequence[Outgoing], send: Send, count: Count, known: Known) -> list[Sent]:
        """Send by `send`, but for new messages to queues that are full. One answer each, in order."""
        limited = {one.message.queue for one in batch if one.most_waiting is not None}
        if not limited:
            return await send(batch)
        for queue in limited:
            await self._look(queue, count)
        refused: dict[int, Sent] = {}
        taken = {queue: self._waiting(queue) for queue in limited}
        for place, one in enumerate(batch):
            waiting, most = taken.get(one.message.queue), one.most_waiting
            if waiting is None:
                continue
            if most is not None and waiting >= most:
                refused[place] = Sent(one.message.id, refusal=queue_full(one.message, most))
            else:
                taken[one.message.queue] = waiting + 1
        if refused:
            # A send that is repeated because its reply was lost must not look as if it had failed.
            ids = await known([sent.id for sent in refused.values()])
            refused = {place: sent for place, sent in refused.items() if sent.id not in ids}
        rest = [one for place, one in enumerate(batch) if place not in refused]
        answers = iter(await send(rest) if rest else ())
        found = [refused.get(place) or next(answers) for place in range(len(batch))]
        for one, sent in zip(batch, found, strict=True):
            if one.message.queue in limited and sent.refusal is None and not sent.duplicate:
                self._sent[one.message.queue] = self._sent.get(one.message.queue, 0) + 1
        return found

    async def _look(self, queue: str, count: Count) -> None:
        known = self._counted.get(queue)
        if known is None or self._clock.monotonic() - known.at >= WAITING_KNOWN_SECONDS:
            self._sent[queue] = 0
            self._counted[queue] = _Counted(await count(queue), self._clock.monotonic())

    def _waiting(self, queue: str) -> int | None:
        waiting = self._counted[queue].waiting
        return None if waiting is None else waiting + self._sent.get(queue, 0)
