"""The delivery queue of a row store in Azure Storage Queues.

One message at a time is sent, hidden and deleted; side by side, because there is no batch. Each hide answers a new
receipt. A receive never waits, so the core looks again with pauses. What stands in a message is said in
`copy_text.py`; the single calls are in `posting.py`. Used by `rowstore/`.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from tenure.adapters.azure import copy_text, examination, posting
from tenure.adapters.azure.log import ProcessedLog
from tenure.adapters.azure.naming import POISON, queue_name
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.posting import LONGEST, Stale
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.traits import TRAITS
from tenure.delivery_queue import (
    CopyReceipt,
    DeliveryTraits,
    OutgoingCopy,
    PhysicalQueue,
    QueueCount,
    QueueFacts,
    ReceivedCopy,
)
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, StoreMissing
from tenure.event import Event
from tenure.examination import Examination
from tenure.message import Message
from tenure.retry import RetryPolicy
from tenure.text.plural import plural

T = TypeVar("T")

logger = logging.getLogger("tenure.azure")

#: Messages never expire.
_ALWAYS = 10**9
#: A call that failed for a passing reason is made again so often, and not after so long.
_AGAIN = RetryPolicy(max_attempts=3, first_delay_seconds=0.1)
_PATIENCE_SECONDS = 2.0


class AzureQueue:
    """Storage Queues, with Tenure's names."""

    def __init__(self, session: Session) -> None:
        """Stand on `session`, which opens and closes with it."""
        self._session = session
        self._traits = delivery_traits(session.options)
        self._log = ProcessedLog(session)

    @property
    def traits(self) -> DeliveryTraits:
        return self._traits

    async def open(self) -> None:
        """Connect, and ask something at once: who we are, and what time it is there."""
        await self._session.open()
        try:
            await self._session.ask()
        except BaseException:
            await self._session.close()
            raise

    async def close(self) -> None:
        await self._session.close()

    async def examine(self, queues: Sequence[str]) -> list[Examination]:
        return await examination.examine(self._session, queues)

    async def log_events(self, events: Sequence[Event]) -> None:
        """The log of `log=`."""
        await self._log.write(events)

    async def prune_log(self) -> None:
        await self._log.prune()

    # -- the queues ----------------------------------------------------------------------------------

    def physical(self, queue: str) -> list[PhysicalQueue]:
        return [PhysicalQueue(queue, 0)]

    def level_of(self, message: Message) -> int:  # noqa: ARG002 - there is one
        return 0

    def keeps_order(self, queue: str) -> bool:  # noqa: ARG002 - none does
        return False

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        """Raises `StoreMissing` where the queue is not there, and is not to be made."""
        facts, session = self.remembered(physical), self._session
        if not session.may_create and physical.queue not in session.heard.served:
            await session.on_queue("counting", physical.queue, lambda client: client.get_queue_properties())
            session.heard.served.add(physical.queue)
        return facts

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:
        queue_name(self._session.options.prefix, physical.queue)  # raises where the service takes no such name
        return QueueFacts(TRAITS.body_limit, _ALWAYS)

    async def names(self) -> list[str]:
        session = self._session
        prefix = f"{session.options.prefix}-" if session.options.prefix else ""

        async def act() -> list[str]:
            pages = session.clients.queue_service.list_queues(name_starts_with=prefix or None)
            return [str(one.name) async for one in pages]

        names = await session.call("listing the queues", act)
        return sorted(name.removeprefix(prefix) for name in names if not name.endswith(POISON))

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        """The service counts visible and hidden together; a look at up to 32 says how many of them are visible."""
        try:
            client = self._session.queue(physical.queue)
            told: Any = await self._session.call("counting", client.get_queue_properties)
            total = int(told.approximate_message_count or 0)
            if not total:
                return QueueCount(0, 0, 0)
            shown: list[Any] = await self._session.call(
                "looking", lambda: client.peek_messages(max_messages=self._traits.batch)
            )
        except StoreMissing:
            return QueueCount(0, 0, 0)
        oldest_at = min((one.inserted_on.timestamp() for one in shown if one.inserted_on is not None), default=None)
        if len(shown) < self._traits.batch:
            return QueueCount(len(shown), max(0, total - len(shown)), 0, oldest_at)
        return QueueCount(total, None, 0, oldest_at)

    # -- copies --------------------------------------------------------------------------------------

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._each([partial(self._send, copy) for copy in copies])

    async def _send(self, copy: OutgoingCopy) -> str:
        try:
            text = copy_text.write(copy, self._session.options.encoding)
            await posting.put(self._session, copy.physical.queue, text, copy.delay)
        except copy_text.Unfit as unfit:
            return str(unfit)
        except (BrokerUnavailable, ConfigurationError):
            raise
        except BrokerError as error:
            return str(error)
        return ""

    async def receive(
        self,
        physical: PhysicalQueue,
        want: int,
        visibility: int,
        wait: float = 0.0,  # noqa: ARG002 - it cannot wait
    ) -> list[ReceivedCopy]:
        until = self._session.clock.monotonic() + visibility
        want = min(want, self._traits.batch)
        found = await posting.receive(self._session, physical.queue, want, visibility)
        return [_copy(physical, one, until) for one in found]

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        return await self._each([partial(self._delete, one) for one in receipts])

    async def _delete(self, one: CopyReceipt) -> bool:
        id, _, receipt = one.receipt.partition(" ")
        try:
            await posting.remove(self._session, one.physical.queue, id, receipt)
        except Stale:
            return False
        except (BrokerUnavailable, ConfigurationError):
            raise
        except BrokerError as error:
            # What is refused for good comes back, and is known as done then; the others must not wait for it.
            logger.warning("a message of %s was not deleted: %s; it comes back", one.physical.queue, error)
            return False
        return True

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        """If some calls fail and others do not, those that failed are None: the others' new receipts must not be lost.

        Their copies are shown when their time is over, which may be early or late; the table says whose they are.
        """
        told = await self._try([partial(self._hide, one) for one in receipts])
        failed = [one for one in told if isinstance(one, BaseException)]
        if failed and (len(failed) == len(told) or not all(isinstance(one, BrokerUnavailable) for one in failed)):
            raise failed[0]
        if failed:
            logger.warning("could not hide %d of %s: %s", len(failed), plural(len(told), "message"), failed[0])
        return [None if isinstance(one, BaseException) else one for one in told]

    async def _hide(self, one: CopyReceipt) -> str | None:
        id, _, receipt = one.receipt.partition(" ")
        try:
            return f"{id} {await posting.hide(self._session, one.physical.queue, id, receipt, one.seconds)}"
        except Stale:
            return None

    async def _each(self, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Side by side; what one raises, all raise, when all have ended."""
        done: list[T] = []
        for one in await self._try(acts):
            if isinstance(one, BaseException):
                raise one
            done.append(one)
        return done

    async def _try(self, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T | BaseException]:
        """Side by side. What fails for a passing reason is tried again at once, if that does not take long."""
        clock = self._session.clock
        until = clock.monotonic() + _PATIENCE_SECONDS
        told = await self._session.each(acts)
        for attempt in range(1, _AGAIN.max_attempts):
            failed = [number for number, one in enumerate(told) if isinstance(one, BrokerUnavailable)]
            if not failed or clock.monotonic() > until:
                break
            await asyncio.sleep(_AGAIN.delay_seconds(attempt, random.random))
            for number, one in zip(failed, await self._session.each([acts[n] for n in failed]), strict=True):
                told[number] = one
        return told


def delivery_traits(options: Options) -> DeliveryTraits:
    """What Storage Queues can do, used as the options say."""
    return DeliveryTraits(
        service="Azure",
        logger="tenure.azure",
        id_prefix="azure-",
        batch=TRAITS.batch_limit,
        max_hidden_seconds=LONGEST,
        max_delay_seconds=LONGEST,
        poll_seconds=0,
        longest_pause_seconds=options.poll_seconds,
        max_total_delay_seconds=None,
        renews_receipts=True,
        carries_versions=True,
    )


def _copy(physical: PhysicalQueue, message: Any, hidden_until: float) -> ReceivedCopy:
    said = copy_text.read(message.content)
    return ReceivedCopy(
        physical=physical,
        id=said.id,
        copy_id=str(message.id),
        receipt=f"{message.id} {message.pop_receipt}",
        body=said.body,
        group=None,
        receives=int(message.dequeue_count or 1),
        hidden_until=hidden_until,
        head=said.head,
        attributes=said.attributes,
        sent_at=message.inserted_on.timestamp() if message.inserted_on is not None else None,
        version=said.version,
    )
