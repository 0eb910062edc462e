"""The quotas of clients as a sender keeps them: how many messages may wait, and how large a payload may be.

What the store says of a client is read before its first message. After that it is read beside a send, not before it,
at most every `BrokerTraits.roster_seconds`: a change counts for the sends that follow. A sender that was quiet for a
minute reads it again first. While the store is away, what was known last counts; the send itself reports the outage.

Used by `client.py`. Messages to other queues than those of clients have no quota.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from tenure.broker import BrokerTraits, Sent
from tenure.clock import Clock
from tenure.errors import BrokerError
from tenure.message import Outgoing
from tenure.quota import NO_QUOTA, Quota
from tenure.rules.client_queue import CLIENT_SUFFIX
from tenure.rules.client_quota import KIND, read
from tenure.rules.rejections import payload_over_quota
from tenure.state import State

T = TypeVar("T")

#: What is known is believed for so long without another look.
_BELIEVED_SECONDS = 60.0
#: So many clients are remembered.
_MOST_KNOWN = 10_000


class _Known(NamedTuple):
    quota: Quota
    #: Monotonic.
    at: float


class SendQuotas:
    """What is known of the quotas of clients, for one event loop."""

    def __init__(self, state: State, clock: Clock, traits: BrokerTraits, default: Quota) -> None:
        """`default` holds for every client."""
        self._state = state
        self._clock = clock
        self._refresh_seconds = traits.roster_seconds
        self._default = default
        self._known: dict[str, _Known] = {}

    async def apply(self, batch: Sequence[Outgoing]) -> tuple[Sequence[Outgoing], dict[int, Sent]]:
        """The messages with their limits, and by place the answers for those that are refused already."""
        queues = _queues_of(batch)
        if not queues:
            return batch, {}
        oldest = self._clock.monotonic() - _BELIEVED_SECONDS
        unknown = [queue for queue in queues if queue not in self._known or self._known[queue].at < oldest]
        if unknown:
            await self._look(unknown)
        quotas = {queue: self._known[queue].quota for queue in queues if not self._known[queue].quota.is_none}
        if not quotas:
            return batch, {}
        ready: list[Outgoing] = []
        refused: dict[int, Sent] = {}
        for place, out in enumerate(batch):
            quota = quotas.get(out.message.queue, NO_QUOTA)
            if quota is NO_QUOTA:
                ready.append(out)
            elif quota.payload_bytes is not None and len(out.message.body) > quota.payload_bytes:
                refusal = payload_over_quota(out.message, len(out.message.body), quota.payload_bytes)
                refused[place] = Sent(out.message.id, refusal=refusal)
            else:
                ready.append(msgspec.structs.replace(out, most_waiting=quota.waiting))
        return ready, refused

    async def refreshing(self, batch: Sequence[Outgoing], sending: Awaitable[T]) -> T:
        """Send, and meanwhile read again what is no longer fresh."""
        oldest = self._clock.monotonic() - self._refresh_seconds
        due = [
            queue for queue in _queues_of(batch) if (known := self._known.get(queue)) is not None and known.at <= oldest
        ]
        if not due:
            return await sending
        answer, _ = await asyncio.gather(sending, self._look(due))
        return answer

    def forget(self, queue: str) -> None:
        """The quota of this queue was changed here: it is read again before the next send."""
        self._known.pop(queue, None)

    async def _look(self, queues: Iterable[str]) -> None:
        for queue in queues:
            stored = None
            with contextlib.suppress(BrokerError):
                value = await self._state.key_values.get(KIND, queue)
                found = None if value is None else read(value.data)
                stored = NO_QUOTA if found is None else found.quota
            self._note(queue, stored)

    def _note(self, queue: str, stored: Quota | None) -> None:
        """`stored`: as the store has it; None: it did not answer."""
        now = self._clock.monotonic()
        if stored is not None:
            self._known[queue] = _Known(stored.over(self._default), now)
        else:
            known = self._known.get(queue)
            self._known[queue] = _Known(self._default if known is None else known.quota, now)
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]


def _queues_of(batch: Sequence[Outgoing]) -> list[str]:
    """The queues of clients among those of a batch."""
    return [queue for queue in {out.message.queue for out in batch} if queue.endswith(CLIENT_SUFFIX)]
