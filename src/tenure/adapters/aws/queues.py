"""What is said to the physical queues: SQS's own verbs, in batches of ten, each entry's failure read.

A 200 can hide entries that failed, so every answer is read. A receipt that is not the latest is no error here: who
holds a message stands in the state, and whoever meets the message next finds it there. Where the queues are, and
whether they can be worked with, is in `spots.py`.
"""

import asyncio
import logging
import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tenure.adapters.aws import faults, naming, wire
from tenure.adapters.aws.copy import Copy, Parcel, Receipt, Spot
from tenure.adapters.aws.link import POLL_SECONDS, Link
from tenure.adapters.aws.spots import LARGEST, Spots
from tenure.adapters.aws.wire import Attribute
from tenure.errors import BrokerUnavailable, QueueGone
from tenure.retry import RetryPolicy
from tenure.rules.cloud_errors import AnswerKind

logger = logging.getLogger("tenure.aws")

BATCH = 10
#: The longest that a message can be hidden from the moment of its receive.
MAX_HIDE = 43_200
MAX_DELAY = 900
#: What XML has no room for; JSON can say it otherwise.
_ILLEGAL = re.compile("[\ufffe\uffff]")
#: Entries that may pass are said again so often.
_AGAIN = RetryPolicy(max_attempts=3, first_delay_seconds=0.1)


class Queues:
    """SQS, with Tenure's names."""

    def __init__(self, link: Link, spots: Spots) -> None:
        """Speak through `link`, to the queues that `spots` knows."""
        self._link = link
        self._options = link.options
        self._spots = spots

    # -- send, receive -------------------------------------------------------------------------------

    async def send(self, parcels: Sequence[Parcel]) -> list[str]:
        """Put copies into their queues. For each: empty, or why the service will never take it."""
        said: dict[int, str] = {}
        for spot, numbers in _by_spot([parcel.spot for parcel in parcels]).items():
            for some in _by_size(numbers, parcels):
                try:
                    await self._send(spot, some, parcels, said)
                except BrokerUnavailable as error:
                    if error.outcome_unknown or not said:
                        raise
                    raise _in_part(error, len(said)) from error
        return [said[number] for number in range(len(parcels))]

    async def _send(self, spot: Spot, numbers: list[int], parcels: Sequence[Parcel], said: dict[int, str]) -> None:
        def entry(number: int) -> dict[str, Any]:
            parcel = parcels[number]
            words: dict[str, Any] = {
                "MessageBody": legal(parcel.body),
                "MessageAttributes": wire.written(parcel.attributes | _own(parcel)),
            }
            if parcel.delay:
                words["DelaySeconds"] = parcel.delay
            if parcel.group:
                words |= {"MessageGroupId": parcel.group, "MessageDeduplicationId": parcel.dedup}
            return words

        failed = await self._batch(spot, "send_message_batch", numbers, entry)
        said |= {number: failed.get(number, "") for number in numbers}

    async def receive(self, spot: Spot, want: int, visibility: int, wait: float = 0.0) -> list[Copy]:
        """Up to ten copies, hidden for `visibility` seconds from now; waits up to `wait` seconds for the first."""
        await self._spots.known(spot)
        hidden_until = self._link.clock.monotonic() + visibility
        answer = await self._call_at(
            spot, "receive_message", MaxNumberOfMessages=min(want, BATCH),
            VisibilityTimeout=min(visibility, MAX_HIDE), WaitTimeSeconds=min(int(wait), POLL_SECONDS),
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"],
        )  # fmt: skip
        return [_copy(spot, one, hidden_until) for one in answer.get("Messages", ())]

    # -- delete, hide --------------------------------------------------------------------------------

    async def delete(self, receipts: Sequence[Receipt]) -> list[bool]:
        """Delete copies. False: the receipt was stale, and whoever has the copy now keeps it; or it was gone."""
        refused = await self._tell("delete_message_batch", receipts, lambda _: {})
        return [number not in refused for number in range(len(receipts))]

    async def hide(self, receipts: Sequence[Receipt]) -> list[bool]:
        """Let copies be seen so many seconds from now, 0: at once. False: the receipt was stale, or the copy gone."""

        def words(receipt: Receipt) -> dict[str, int]:
            return {"VisibilityTimeout": min(MAX_HIDE, max(0, math.ceil(receipt.seconds - 1e-6)))}

        refused = await self._tell("change_message_visibility_batch", receipts, words)
        return [number not in refused for number in range(len(receipts))]

    async def _tell(self, operation: str, receipts: Sequence[Receipt], words: Any) -> dict[int, str]:
        refused: dict[int, str] = {}
        done = 0
        for spot, numbers in _by_spot([one.spot for one in receipts]).items():
            for start in range(0, len(numbers), BATCH):
                some = numbers[start : start + BATCH]
                try:
                    refused |= await self._batch(
                        spot,
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

    async def _batch(self, spot: Spot, operation: str, numbers: list[int], entry: Any) -> dict[int, str]:
        """One call; entries that failed for a passing reason are said again. Those that never will pass, and why."""
        refused: dict[int, str] = {}
        left, place = numbers, self._options.place
        for attempt in range(1, _AGAIN.max_attempts + 1):
            entries = [{"Id": str(number)} | entry(number) for number in left]
            answer = await self._call_at(spot, operation, Entries=entries)
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

    async def counts(self, spot: Spot) -> tuple[int, int, int]:
        """About how many are visible, hidden and delayed."""
        names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        url = await self._spots.url(spot)
        answer = await self._call("get_queue_attributes", QueueUrl=url, AttributeNames=names)
        visible, hidden, delayed = (int(answer.get("Attributes", {}).get(name, 0)) for name in names)
        return visible, hidden, delayed

    async def _call_at(self, spot: Spot, operation: str, **words: Any) -> Any:
        """A call to a physical queue. One that was deleted meanwhile is made again, if that was asked for."""
        known = await self._spots.known(spot)
        try:
            return await self._call(operation, QueueUrl=known.url, **words)
        except QueueGone:
            if self._options.create:
                self._spots.forget(spot)
            raise

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._link.call("sqs", operation, self._options.place, **words)


def legal(text: str) -> str:
    """The same JSON without characters that SQS refuses. Two of them JSON would leave as they are."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _copy(spot: Spot, message: dict[str, Any], hidden_until: float) -> Copy:
    attributes = message.get("Attributes", {})
    beside = wire.read(message.get("MessageAttributes", {}))
    own, head = beside.pop(wire.ID, None), beside.pop(wire.HEAD, None)
    sent_at = attributes.get("SentTimestamp")
    return Copy(
        spot=spot,
        id=own.value if own is not None else None,
        sqs_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        group=attributes.get("MessageGroupId") if naming.is_fifo(spot.queue) else None,
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        hidden_until=hidden_until,
        head=head.value if head is not None else "",
        attributes=beside,
        sent_at=float(sent_at) / 1000 if sent_at else None,
    )


def _own(parcel: Parcel) -> dict[str, Attribute]:
    own = {wire.ID: Attribute("String", parcel.id)}
    return own | {wire.HEAD: Attribute("String", legal(parcel.head))} if parcel.head else own


def _in_part(error: BrokerUnavailable, done: int) -> BrokerUnavailable:
    """For the error of a call before which `done` entries were said in others: it is not true that nothing was done."""
    return BrokerUnavailable(f"{error}; {done} of the same batch were done before", outcome_unknown=True)


def _by_spot(spots: Sequence[Spot]) -> dict[Spot, list[int]]:
    found: defaultdict[Spot, list[int]] = defaultdict(list)
    for number, spot in enumerate(spots):
        found[spot].append(number)
    return found


def _by_size(numbers: list[int], parcels: Sequence[Parcel]) -> list[list[int]]:
    """Batches of at most ten, and of no more than fits into one request."""
    batches: list[list[int]] = []
    size = 0
    for number in numbers:
        parcel = parcels[number]
        length = wire.size(parcel.id, parcel.body, parcel.head, parcel.attributes) + 64
        if not batches or len(batches[-1]) == BATCH or size + length > LARGEST:
            batches.append([])
            size = 0
        batches[-1].append(number)
        size += length
    return batches
