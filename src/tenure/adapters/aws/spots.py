"""The physical queues of an account: which there are, where each is, made if that was asked for, and checked.

What is known of one is kept until it is found to be gone. What is put into them and taken out is in `queues.py`; their
names are in `naming.py`, and what a queue's own redrive policy may say in `policy.py`.
"""

import logging
from typing import Any

import msgspec

from tenure.adapters.aws import faults, naming, policy
from tenure.adapters.aws.copy import Spot
from tenure.adapters.aws.link import Link
from tenure.finding import Finding

logger = logging.getLogger("tenure.aws")

#: The most that SQS takes in one request, and in one message.
LARGEST = 1024 * 1024
_KEEP = 14 * 86_400
#: What was said in the log of this process: each of its stores would find the same.
_TOLD: set[Finding] = set()


class Known(msgspec.Struct, frozen=True):
    """What is known of a physical queue."""

    url: str
    body_limit: int
    keep_seconds: int
    #: What is unwise about how it is set up.
    findings: tuple[Finding, ...] = ()


#: What is believed of a physical queue that was not asked yet: the most that SQS allows.
UNASKED = Known("", LARGEST, _KEEP)


class Spots:
    """The physical queues, as they are known here."""

    def __init__(self, link: Link) -> None:
        """Nothing is known yet."""
        self._link = link
        self._options = link.options
        self._known: dict[Spot, Known] = {}

    def of(self, queue: str) -> list[Spot]:
        """The physical queues of a queue, the highest priority first."""
        count = naming.levels(queue, self._options.priorities)
        return [Spot(queue, level) for level in reversed(range(count))]

    async def known(self, spot: Spot) -> Known:
        """Where a physical queue is; made if that was asked for. Raises `QueueMissing`, `RedriveTooSoon`."""
        known = self._known.get(spot)
        if known is None:
            known = self._known[spot] = await self._find(spot)
        return known

    def remembered(self, spot: Spot) -> Known:
        """As `known`, without asking anybody. Raises `BadQueueName`."""
        self._name(spot)
        return self._known.get(spot, UNASKED)

    def forget(self, spot: Spot) -> None:
        """It was deleted: look again, and make it again if that was asked for."""
        self._known.pop(spot, None)

    async def url(self, spot: Spot) -> str:
        """For whoever only looks: makes nothing, and lets one look at a queue that cannot be worked with."""
        known = self._known.get(spot)
        return await self._url(self._name(spot)) if known is None else known.url

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

    def _name(self, spot: Spot) -> str:
        count = naming.levels(spot.queue, self._options.priorities)
        return naming.physical(self._options.prefix, spot.queue, spot.level, count)

    async def _url(self, name: str) -> str:
        words = {"QueueName": name}
        if self._options.account:
            words["QueueOwnerAWSAccountId"] = self._options.account
        return str((await self._call("get_queue_url", **words))["QueueUrl"])

    async def _find(self, spot: Spot) -> Known:
        name = self._name(spot)
        try:
            url = await self._url(name)
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
        found: tuple[Finding, ...] = ()
        if (own := policy.read(attributes)) is not None:
            if not self._options.accepts_redrive_policy:
                policy.refuse_eager(name, own)
            found = (policy.finding(name, own),)
        for one in found:
            if one not in _TOLD:
                _TOLD.add(one)
                logger.warning("%s: %s. %s [%s]", one.subject, one.evidence, one.remedy, one.id)
        limit = int(attributes.get("MaximumMessageSize", LARGEST))
        return Known(url, limit, int(attributes.get("MessageRetentionPeriod", _KEEP)), found)

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._link.call("sqs", operation, self._options.place, **words)
