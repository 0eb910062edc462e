"""The delivery queue on SQS: its own verbs, in batches of ten, each entry's failure read.

A 200 can hide entries that failed, so every answer is read. A receipt that is not the latest is no error here: who
holds a message stands in the state, and the next receiver of the message finds it there. Where the queues are, and
whether they can be worked with, is in `physical_queues.py`. Implements `tenure/delivery_queue.py`.
"""

import asyncio
import logging
import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tenure.adapters.aws import attributes, examination, faults, naming
from tenure.adapters.aws.options import ATTRIBUTES, Options
from tenure.adapters.aws.physical_queues import LARGEST, PhysicalQueues
from tenure.adapters.aws.session import POLL_SECONDS, Session
from tenure.delivery_queue import (
    Attribute,
    CopyReceipt,
    DeliveryTraits,
    OutgoingCopy,
    PhysicalQueue,
    QueueCount,
    QueueFacts,
    ReceivedCopy,
)
from tenure.errors import BrokerUnavailable, QueueGone
from tenure.examination import Examination
from tenure.message import Message
from tenure.retry import RetryPolicy
from tenure.rules.cloud_errors import AnswerKind

logger = logging.getLogger("tenure.aws")

BATCH = 10
#: The longest that a message can be hidden from the moment of its receive.
MAX_HIDE = 43_200
MAX_DELAY = 900
#: Delays that SQS cannot keep by itself go in hops; so long at most, that retention does not end them.
MAX_TOTAL_DELAY = 13 * 86_400.0
#: What XML has no room for; JSON can say it otherwise.
_ILLEGAL = re.compile("[\ufffe\uffff]")
#: Entries that may pass are said again so often.
_AGAIN = RetryPolicy(max_attempts=3, first_delay_seconds=0.1)


class SqsQueue:
    """SQS, with Tenure's names."""

    def __init__(self, session: Session) -> None:
        """Speak through `session`."""
        self._session = session
        self._options = session.options
        self._known = PhysicalQueues(session)
        self._traits = delivery_traits(session.options)

    @property
    def traits(self) -> DeliveryTraits:
        return self._traits

    async def open(self) -> None:
        await self._session.open()

    async def close(self) -> None:
        await self._session.close()

    async def examine(self, queues: Sequence[str]) -> list[Examination]:
        return await examination.examine(self._session, self._known, queues)

    # -- the physical queues -------------------------------------------------------------------------

    def physical(self, queue: str) -> list[PhysicalQueue]:
        return self._known.of(queue)

    def level_of(self, message: Message) -> int:
        return naming.level_of(message, self._options.priorities)

    def keeps_order(self, queue: str) -> bool:
        return naming.is_fifo(queue)

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        known = await self._known.known(physical)
        limit = min(self._options.body_limit, known.body_limit - ATTRIBUTES)
        return QueueFacts(limit, known.keep_seconds, known.findings)

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:
        known = self._known.remembered(physical)
        limit = min(self._options.body_limit, known.body_limit - ATTRIBUTES)
        return QueueFacts(limit, known.keep_seconds, known.findings)

    async def names(self) -> list[str]:
        return await self._known.names()

    # -- send, receive -------------------------------------------------------------------------------

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        """Put copies into their queues. For each: empty, or why the service will never take it."""
        said: dict[int, str] = {}
        for physical, numbers in _by_queue([copy.physical for copy in copies]).items():
            for some in _by_size(numbers, copies):
                try:
                    await self._send(physical, some, copies, said)
                except BrokerUnavailable as error:
                    if error.outcome_unknown or not said:
                        raise
                    raise _in_part(error, len(said)) from error
        return [said[number] for number in range(len(copies))]

    async def _send(
        self, physical: PhysicalQueue, numbers: list[int], copies: Sequence[OutgoingCopy], said: dict[int, str]
    ) -> None:
        def entry(number: int) -> dict[str, Any]:
            copy = copies[number]
            words: dict[str, Any] = {
                "MessageBody": legal(copy.body),
                "MessageAttributes": attributes.written(copy.attributes | _own(copy)),
            }
            if copy.delay:
                words["DelaySeconds"] = copy.delay
            if copy.group:
                group, dedup = naming.word(copy.group), naming.word(copy.dedup)
                words |= {"MessageGroupId": group, "MessageDeduplicationId": dedup}
            return words

        failed = await self._batch(physical, "send_message_batch", numbers, entry)
        said |= {number: failed.get(number, "") for number in numbers}

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        """Up to ten copies, hidden for `visibility` seconds from now; waits up to `wait` seconds for the first."""
        await self._known.known(physical)
        hidden_until = self._session.clock.monotonic() + visibility
        answer = await self._call_at(
            physical, "receive_message", MaxNumberOfMessages=min(want, BATCH),
            VisibilityTimeout=min(visibility, MAX_HIDE), WaitTimeSeconds=min(int(wait), POLL_SECONDS),
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"],
        )  # fmt: skip
        return [_copy(physical, one, hidden_until) for one in answer.get("Messages", ())]

    # -- delete, hide --------------------------------------------------------------------------------

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        """Delete copies. False: the receipt was stale, and the copy's new holder keeps it; or it was gone."""
        refused = await self._tell("delete_message_batch", receipts, lambda _: {})
        return [number not in refused for number in range(len(receipts))]

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        """Let copies be seen so many seconds from now, 0: at once. The receipt stays; None: it was stale."""

        def words(receipt: CopyReceipt) -> dict[str, int]:
            return {"VisibilityTimeout": min(MAX_HIDE, max(0, math.ceil(receipt.seconds - 1e-6)))}

        refused = await self._tell("change_message_visibility_batch", receipts, words)
        return [None if number in refused else receipt.receipt for number, receipt in enumerate(receipts)]

    async def _tell(self, operation: str, receipts: Sequence[CopyReceipt], words: Any) -> dict[int, str]:
        refused: dict[int, str] = {}
        done = 0
        for physical, numbers in _by_queue([one.physical for one in receipts]).items():
            for start in range(0, len(numbers), BATCH):
                some = numbers[start : start + BATCH]
                try:
                    refused |= await self._batch(
                        physical,
                        operation,
                        some,
                        lambda number: {"ReceiptHandle": receipts[number].receipt} | words(receipts[number]),
                    )
                except BrokerUnavailable as error:
                    if error.outcome_unknown or not done:
                        raise
                    raise _in_part(error, done) from error
                done += len(some)
        return refused

    async def _batch(self, physical: PhysicalQueue, operation: str, numbers: list[int], entry: Any) -> dict[int, str]:
        """One call; entries that failed for a passing reason are said again. Those that never will pass, and why."""
        refused: dict[int, str] = {}
        left, place = numbers, self._options.place
        for attempt in range(1, _AGAIN.max_attempts + 1):
            entries = [{"Id": str(number)} | entry(number) for number in left]
            answer = await self._call_at(physical, operation, Entries=entries)
            left = []
            for one in answer.get("Failed", ()):
                said = faults.of_entry(
                    one.get("Code", ""), one.get("Message", ""), is_theirs=not one.get("SenderFault")
                )
                if said.is_worth_another_try:
                    left.append(int(one["Id"]))
                    continue
                refused[int(one["Id"])] = f"{said.code}: {said.text}"
                if said.kind is AnswerKind.REFUSED and operation != "send_message_batch":
                    logger.warning("%s refused an entry of a %s: %s; it comes back", place, operation, said.text)
            if not left:
                return refused
            await asyncio.sleep(_AGAIN.delay_seconds(attempt, random.random))
        text = f"{place} left {len(left)} of {len(numbers)} entries of a {operation} undone; tried again"
        raise BrokerUnavailable(text, outcome_unknown=True)

    # -- looking -------------------------------------------------------------------------------------

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        """About how many are visible, hidden and delayed."""
        names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        try:
            url = await self._known.url(physical)
            answer = await self._call("get_queue_attributes", QueueUrl=url, AttributeNames=names)
        except (faults.QueueMissing, QueueGone):
            return QueueCount(0, 0, 0)
        visible, hidden, delayed = (int(answer.get("Attributes", {}).get(name, 0)) for name in names)
        return QueueCount(visible, hidden, delayed)

    async def _call_at(self, physical: PhysicalQueue, operation: str, **words: Any) -> Any:
        """A call to a physical queue. One that was deleted meanwhile is made again, if that was asked for."""
        known = await self._known.known(physical)
        try:
            return await self._call(operation, QueueUrl=known.url, **words)
        except QueueGone:
            if self._options.create:
                self._known.forget(physical)
            raise

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._session.call("sqs", operation, self._options.place, **words)


def delivery_traits(options: Options) -> DeliveryTraits:
    """What SQS can do, used as the options say."""
    return DeliveryTraits(
        service="SQS",
        logger="tenure.aws",
        id_prefix="sqs-",
        batch=BATCH,
        max_hidden_seconds=MAX_HIDE,
        max_delay_seconds=MAX_DELAY,
        poll_seconds=POLL_SECONDS,
        max_total_delay_seconds=MAX_TOTAL_DELAY,
        priority_levels=options.priorities,
    )


def legal(text: str) -> str:
    """The same JSON without characters that SQS refuses. Two of them JSON would leave as they are."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _copy(physical: PhysicalQueue, message: dict[str, Any], hidden_until: float) -> ReceivedCopy:
    system = message.get("Attributes", {})
    beside = attributes.read(message.get("MessageAttributes", {}))
    own, head = beside.pop(attributes.ID, None), beside.pop(attributes.HEAD, None)
    sent_at = system.get("SentTimestamp")
    return ReceivedCopy(
        physical=physical,
        id=own.value if own is not None else None,
        copy_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        group=system.get("MessageGroupId") if naming.is_fifo(physical.queue) else None,
        receives=int(system.get("ApproximateReceiveCount", 1)),
        hidden_until=hidden_until,
        head=head.value if head is not None else "",
        attributes=beside,
        sent_at=float(sent_at) / 1000 if sent_at else None,
    )


def _own(copy: OutgoingCopy) -> dict[str, Attribute]:
    own = {attributes.ID: Attribute("String", copy.id)}
    return own | {attributes.HEAD: Attribute("String", legal(copy.head))} if copy.head else own


def _in_part(error: BrokerUnavailable, done: int) -> BrokerUnavailable:
    """For the error of a call before which `done` entries were said in others: it is not true that nothing was done."""
    return BrokerUnavailable(f"{error}; {done} of the same batch were done before", outcome_unknown=True)


def _by_queue(physicals: Sequence[PhysicalQueue]) -> dict[PhysicalQueue, list[int]]:
    found: defaultdict[PhysicalQueue, list[int]] = defaultdict(list)
    for number, physical in enumerate(physicals):
        found[physical].append(number)
    return found


def _by_size(numbers: list[int], copies: Sequence[OutgoingCopy]) -> list[list[int]]:
    """Batches of at most ten, and of no more than fits into one request."""
    batches: list[list[int]] = []
    size = 0
    for number in numbers:
        copy = copies[number]
        length = attributes.size(copy.id, copy.body, copy.head, copy.attributes) + 64
        if not batches or len(batches[-1]) == BATCH or size + length > LARGEST:
            batches.append([])
            size = 0
        batches[-1].append(number)
        size += length
    return batches
