"""The physical queues of an account: which there are, where each is, made if that was asked for, and checked.

What is known of one is kept until it is found to be gone. What is put into them and taken out is in `sqs.py`; their
names are in `naming.py`, and what a queue's own redrive policy may say in `redrive_policy.py`.
"""

import logging
from typing import Any

import msgspec

from tenure.adapters.aws import faults, naming, redrive_policy
from tenure.adapters.aws.session import Session
from tenure.delivery_queue import PhysicalQueue
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


class PhysicalQueues:
    """The physical queues, as they are known here."""

    def __init__(self, session: Session) -> None:
        """Nothing is known yet."""
        self._session = session
        self._options = session.options
        self._known: dict[PhysicalQueue, Known] = {}

    def of(self, queue: str) -> list[PhysicalQueue]:
        """The physical queues of a queue, the highest priority first."""
        count = naming.levels(queue, self._options.priorities)
        return [PhysicalQueue(queue, level) for level in reversed(range(count))]

    async def known(self, physical: PhysicalQueue) -> Known:
        """Where a physical queue is; made if that was asked for. Raises `QueueMissing`, `RedriveTooSoon`."""
        known = self._known.get(physical)
        if known is None:
            known = self._known[physical] = await self._find(physical)
        return known

    def remembered(self, physical: PhysicalQueue) -> Known:
        """As `known`, without asking anybody. Raises `BadQueueName`."""
        self._name(physical)
        return self._known.get(physical, UNASKED)

    def forget(self, physical: PhysicalQueue) -> None:
        """It was deleted: look again, and make it again if that was asked for."""
        self._known.pop(physical, None)

    async def url(self, physical: PhysicalQueue) -> str:
        """For readers: makes nothing, and lets one look at a queue that cannot be worked with."""
        known = self._known.get(physical)
        return await self._url(self._name(physical)) if known is None else known.url

    async def names(self) -> list[str]:
        """The queues that are there under our prefix; those of other priorities are listed once."""
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

    def _name(self, physical: PhysicalQueue) -> str:
        count = naming.levels(physical.queue, self._options.priorities)
        return naming.physical(self._options.prefix, physical.queue, physical.level, count)

    async def _url(self, name: str) -> str:
        words = {"QueueName": name}
        if self._options.account:
            words["QueueOwnerAWSAccountId"] = self._options.account
        return str((await self._call("get_queue_url", **words))["QueueUrl"])

    async def _find(self, physical: PhysicalQueue) -> Known:
        name = self._name(physical)
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
        if (own := redrive_policy.read(attributes)) is not None:
            if not self._options.accepts_redrive_policy:
                redrive_policy.refuse_eager(name, own)
            found = (redrive_policy.finding(name, own),)
        for one in found:
            if one not in _TOLD:
                _TOLD.add(one)
                logger.warning("%s: %s. %s [%s]", one.subject, one.evidence, one.remedy, one.id)
        limit = int(attributes.get("MaximumMessageSize", LARGEST))
        return Known(url, limit, int(attributes.get("MessageRetentionPeriod", _KEEP)), found)

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._session.call("sqs", operation, self._options.place, **words)
