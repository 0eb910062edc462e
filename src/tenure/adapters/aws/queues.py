"""The physical queues: SQS's own verbs, in batches of ten, each entry's failure read.

A 200 can hide entries that failed, so every answer is read. A receipt that is not the latest is no error here: who
holds a message stands in the state, and whoever meets the message next finds it there.
"""

import asyncio
import json
import logging
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.aws import faults, naming
from tenure.adapters.aws.link import POLL_SECONDS, Link
from tenure.errors import BrokerUnavailable

logger = logging.getLogger("tenure.aws")

BATCH = 10
#: The longest that a message can be hidden from the moment of its receive.
MAX_HIDE = 43_200
MAX_DELAY = 900
#: The attribute that carries the logical id.
ID = "tenure-id"
#: A redrive policy below this takes messages away that were only returned, or waited in hops.
LEAST_RECEIVES = 100
_KEEP = 14 * 86_400
_LARGEST = 1024 * 1024
#: What XML has no room for; JSON can say it otherwise.
_ILLEGAL = re.compile("[\ufffe\uffff]")
_TRIES = 3
_FIRST_PAUSE = 0.1


class Spot(msgspec.Struct, frozen=True):
    """One physical queue."""

    queue: str
    level: int


class Parcel(msgspec.Struct, frozen=True):
    """A copy of a message to be put into its queue."""

    spot: Spot
    id: str
    body: str
    delay: int = 0
    group: str = ""
    dedup: str = ""


class Copy(msgspec.Struct, frozen=True):
    """A copy that was received: it stays hidden until its visibility ends."""

    spot: Spot
    #: The logical id. None: it does not say.
    id: str | None
    sqs_id: str
    receipt: str
    body: str
    group: str | None
    receives: int
    #: Monotonic, and not later than the service's: until then nobody else is given it.
    hidden_until: float


class Receipt(msgspec.Struct, frozen=True):
    """A right to speak about a copy, and for how long it is to be hidden."""

    spot: Spot
    receipt: str
    seconds: float = 0.0


class Known(msgspec.Struct, frozen=True):
    """What is known of a physical queue."""

    url: str
    body_limit: int
    keep_seconds: int
    #: The queue's own rule: so many receives, and SQS itself moves a message away. None: there is none.
    max_receives: int | None


class Queues:
    """SQS, with Tenure's names."""

    def __init__(self, link: Link) -> None:
        """Stand on `link`."""
        self._link = link
        self._options = link.options
        self._known: dict[Spot, Known] = {}

    def spots(self, queue: str) -> list[Spot]:
        """The physical queues of a queue, the highest priority first."""
        count = naming.levels(queue, self._options.priorities)
        return [Spot(queue, level) for level in reversed(range(count))]

    async def known(self, spot: Spot) -> Known:
        """Where a physical queue is; made if that was asked for. Raises `QueueMissing`, `RedriveTooSoon`."""
        known = self._known.get(spot)
        if known is None:
            known = self._known[spot] = await self._find(spot)
        return known

    # -- send, receive -------------------------------------------------------------------------------

    async def send(self, parcels: Sequence[Parcel]) -> list[str]:
        """Put copies into their queues. For each: empty, or why the service will never take it."""
        said: dict[int, str] = {}
        for spot, numbers in _by_spot([parcel.spot for parcel in parcels]).items():
            for some in _by_size(numbers, parcels):
                await self._send(spot, some, parcels, said)
        return [said[number] for number in range(len(parcels))]

    async def _send(self, spot: Spot, numbers: list[int], parcels: Sequence[Parcel], said: dict[int, str]) -> None:
        def entry(number: int) -> dict[str, Any]:
            parcel = parcels[number]
            words: dict[str, Any] = {
                "MessageBody": legal(parcel.body),
                "MessageAttributes": {ID: {"DataType": "String", "StringValue": parcel.id}},
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
        known = await self.known(spot)
        hidden_until = self._link.clock.monotonic() + visibility
        answer = await self._call(
            "receive_message", QueueUrl=known.url, MaxNumberOfMessages=min(want, BATCH),
            VisibilityTimeout=min(visibility, MAX_HIDE), WaitTimeSeconds=min(int(wait), POLL_SECONDS),
            MessageAttributeNames=[ID], MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId"],
        )  # fmt: skip
        return [_copy(spot, one, hidden_until) for one in answer.get("Messages", ())]

    # -- delete, hide --------------------------------------------------------------------------------

    async def delete(self, receipts: Sequence[Receipt]) -> None:
        """Delete copies; one whose receipt is stale stays for whoever has it now."""
        await self._tell("delete_message_batch", receipts, lambda _: {})

    async def hide(self, receipts: Sequence[Receipt]) -> list[bool]:
        """Let copies be seen so many seconds from now, 0: at once. False: the receipt was stale, or the copy gone."""

        def words(receipt: Receipt) -> dict[str, int]:
            return {"VisibilityTimeout": min(MAX_HIDE, max(0, math.ceil(receipt.seconds - 1e-6)))}

        refused = await self._tell("change_message_visibility_batch", receipts, words)
        return [number not in refused for number in range(len(receipts))]

    async def _tell(self, operation: str, receipts: Sequence[Receipt], words: Any) -> dict[int, str]:
        refused: dict[int, str] = {}
        for spot, numbers in _by_spot([one.spot for one in receipts]).items():
            for start in range(0, len(numbers), BATCH):
                refused |= await self._batch(
                    spot, operation, numbers[start : start + BATCH],
                    lambda number: {"ReceiptHandle": receipts[number].receipt} | words(receipts[number]),
                )  # fmt: skip
        return refused

    async def _batch(self, spot: Spot, operation: str, numbers: list[int], entry: Any) -> dict[int, str]:
        """One call; entries that failed for a passing reason are said again. Those that never will pass, and why."""
        known = await self.known(spot)
        refused: dict[int, str] = {}
        left = numbers
        for tried in range(_TRIES):
            entries = [{"Id": str(number)} | entry(number) for number in left]
            answer = await self._call(operation, QueueUrl=known.url, Entries=entries)
            left = []
            for one in answer.get("Failed", ()):
                if one.get("SenderFault") or one.get("Code") in faults.STALE:
                    refused[int(one["Id"])] = f"{one.get('Code')}: {one.get('Message', '')}"
                else:
                    left.append(int(one["Id"]))
            if not left:
                return refused
            await asyncio.sleep(_FIRST_PAUSE * 2**tried)
        text = f"{self._options.place} left {len(left)} of {len(numbers)} entries of a {operation} undone; tried again"
        raise BrokerUnavailable(text, outcome_unknown=True)

    # -- looking -------------------------------------------------------------------------------------

    async def counts(self, spot: Spot) -> tuple[int, int, int]:
        """About how many are visible, hidden and delayed."""
        names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        known = await self.known(spot)
        answer = await self._call("get_queue_attributes", QueueUrl=known.url, AttributeNames=names)
        visible, hidden, delayed = (int(answer.get("Attributes", {}).get(name, 0)) for name in names)
        return visible, hidden, delayed

    async def names(self) -> list[str]:
        """The queues that are there under our prefix; those of other priorities are told once."""
        found: set[str] = set()
        words: dict[str, Any] = {"MaxResults": 1000}
        if self._options.prefix:
            words["QueueNamePrefix"] = self._options.prefix
        while True:
            answer = await self._call("list_queues", **words)
            for url in answer.get("QueueUrls", ()):
                name = url.rpartition("/")[2].removeprefix(self._options.prefix)
                if self._options.priorities > 1:
                    name = name.removesuffix("-low").removesuffix("-high")
                found.add(name)
            if not answer.get("NextToken"):
                return sorted(found)
            words["NextToken"] = answer["NextToken"]

    async def _find(self, spot: Spot) -> Known:
        count = naming.levels(spot.queue, self._options.priorities)
        name = naming.physical(self._options.prefix, spot.queue, spot.level, count)
        words = {"QueueName": name}
        if self._options.account:
            words["QueueOwnerAWSAccountId"] = self._options.account
        try:
            url = (await self._call("get_queue_url", **words))["QueueUrl"]
        except faults.QueueMissing as error:
            if not self._options.create:
                where = self._options.place
                text = f"{where} has no queue {name!r}; make it, or add create=yes to the URL. Nothing was done"
                raise faults.QueueMissing(text) from error
            attributes = {"MessageRetentionPeriod": str(_KEEP)}
            if naming.is_fifo(name):
                attributes["FifoQueue"] = "true"
            url = (await self._call("create_queue", QueueName=name, Attributes=attributes))["QueueUrl"]
        answer = await self._call("get_queue_attributes", QueueUrl=url, AttributeNames=["All"])
        return self._checked(name, url, answer.get("Attributes", {}))

    def _checked(self, name: str, url: str, attributes: dict[str, str]) -> Known:
        receives = None
        if policy := attributes.get("RedrivePolicy"):
            receives = int(json.loads(policy).get("maxReceiveCount", 0))
            if receives < LEAST_RECEIVES:
                msg = (
                    f"queue {name!r} moves a message away itself after {receives} receives (its redrive policy): "
                    "before its attempts are used up, because returns and long delays are receives too. Nothing was "
                    f"started. Set maxReceiveCount to {LEAST_RECEIVES} or more, or take the policy away: Tenure keeps "
                    "dead letters itself"
                )
                raise faults.RedriveTooSoon(msg)
            logger.warning(
                "queue %s has a redrive policy of its own: after %d receives SQS moves a message away", name, receives
            )
        limit = int(attributes.get("MaximumMessageSize", _LARGEST))
        return Known(url, limit, int(attributes.get("MessageRetentionPeriod", _KEEP)), receives)

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._link.call("sqs", operation, self._options.place, **words)


def legal(text: str) -> str:
    """The same JSON without characters that SQS refuses. Two of them JSON would leave as they are."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _copy(spot: Spot, message: dict[str, Any], hidden_until: float) -> Copy:
    attributes = message.get("Attributes", {})
    return Copy(
        spot=spot,
        id=message.get("MessageAttributes", {}).get(ID, {}).get("StringValue"),
        sqs_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        group=attributes.get("MessageGroupId") if naming.is_fifo(spot.queue) else None,
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        hidden_until=hidden_until,
    )


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
        length = len(parcels[number].body.encode()) + len(parcels[number].id) + 64
        if not batches or len(batches[-1]) == BATCH or size + length > _LARGEST:
            batches.append([])
            size = 0
        batches[-1].append(number)
        size += length
    return batches


__all__ = ["BATCH", "MAX_DELAY", "MAX_HIDE", "Copy", "Known", "Parcel", "Queues", "Receipt", "Spot"]
