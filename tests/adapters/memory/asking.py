"""Messages and requests as the tests of the memory store make them."""

from typing import Any

import msgspec

from tenure.adapters.memory import MemoryBroker
from tenure.claim import ClaimRequest, Scope, digest
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, Outgoing
from tenure.verdict import Reason

BOOM = Reason("error", "it broke")


def message(id: str, **changes: Any) -> Message:
    return Message(**{"id": id, "queue": "q", "task": "t", "body": msgspec.Raw(b"{}"), **changes})


def asking(owner: str = "w/1", want: int = 10, **changes: Any) -> LeaseRequest:
    fields = {"owner": owner, "request_id": "r", "queues": ("q",), "want": want, "seconds": 30.0}
    return LeaseRequest(**{**fields, **changes})


def claiming(message: Message, owner: str = "w/1", seconds: float = 30.0) -> ClaimRequest:
    return ClaimRequest(Scope.of(message), message.id, owner, seconds, digest(message))


async def put(broker: MemoryBroker, *ids: str, **changes: Any) -> None:
    await broker.send([Outgoing(message(id, **changes)) for id in ids])


async def take(broker: MemoryBroker, **changes: Any) -> Lease:
    [lease] = await broker.lease(asking(**{"want": 1, **changes}))
    return lease
