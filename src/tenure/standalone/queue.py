"""A queue behind a bare client of the user's: the few requests that are made of it, as steps.

`SqsQueue` for a client of boto3 or aiobotocore, `StorageQueue` for a `QueueClient` of the Azure SDK, sync or async.
This is the only module of the package that knows the differences between the two services.
"""

import math
from typing import Any, Protocol

from tenure.errors import BadArgument
from tenure.standalone.receipt import Receipt
from tenure.standalone.steps import StepCall, Steps, is_async

_PEEK_LIMIT = 32


class Queue(Protocol):
    """The requests that both services have."""

    #: Longest time one delivery may be held, however often it is renewed.
    hold_limit_seconds: float
    #: A receipt of a lease that is over can do no harm.
    receipts_fence: bool
    #: Longest time for which one request may hide a message.
    hide_limit_seconds: float

    @property
    def identity(self) -> str | None:
        """The name of the queue, where renewing a message replaces its receipt. None: it does not, or there is none."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether its client is awaited."""
        ...

    def check(self, receipt: Receipt) -> None:
        """Raise `BadArgument` for a receipt that the service cannot do anything with."""
        ...

    def delete(self, receipt: Receipt) -> Steps[None]:
        """Delete the message; raises what the client raises."""
        ...

    def extend(self, receipt: Receipt, seconds: int) -> Steps[str]:
        """Hide the message for `seconds` from now. Answers with the receipt that is good from now on."""
        ...

    def look(self, message_id: str) -> Steps[bool | None]:
        """Whether the message is in the queue. None: that cannot be known."""
        ...


class SqsQueue:
    """A queue of Amazon SQS."""

    hold_limit_seconds = 43_200.0
    receipts_fence = False
    hide_limit_seconds = 43_200.0
    identity = None

    def __init__(self, client: Any, queue_url: str) -> None:
        """A client of the service `sqs`, and the queue's URL."""
        self._client = client
        self._url = queue_url

    @property
    def is_async(self) -> bool:
        """Whether its client is awaited."""
        return is_async(self._client.delete_message)

    def check(self, receipt: Receipt) -> None:
        """The handle is all that it wants."""

    def delete(self, receipt: Receipt) -> Steps[None]:
        """Delete the message."""
        yield StepCall(self._client.delete_message, QueueUrl=self._url, ReceiptHandle=receipt.receipt)

    def extend(self, receipt: Receipt, seconds: int) -> Steps[str]:
        """The receipt stays the same."""
        yield StepCall(
            self._client.change_message_visibility,
            QueueUrl=self._url,
            ReceiptHandle=receipt.receipt,
            VisibilityTimeout=seconds,
        )
        return receipt.receipt

    def look(self, message_id: str) -> Steps[bool | None]:
        """SQS cannot be looked into: to receive a message counts as a delivery, and its numbers are guesses."""
        del message_id
        yield from ()  # a generator, as the others are
        return None


class StorageQueue:
    """A queue of Azure Storage."""

    hold_limit_seconds = math.inf
    receipts_fence = True
    hide_limit_seconds = 7 * 86_400.0

    def __init__(self, client: Any) -> None:
        """Take a `QueueClient`."""
        self._client = client

    @property
    def identity(self) -> str | None:
        """The URL of the queue."""
        url = getattr(self._client, "url", None)
        return url if isinstance(url, str) else None

    @property
    def is_async(self) -> bool:
        """Whether its client is awaited."""
        return is_async(self._client.delete_message)

    def check(self, receipt: Receipt) -> None:
        """Raise without the message's id: a delete without one removes all messages of the queue."""
        if not receipt.message_id:
            raise BadArgument("on Azure a receipt needs the id of the message: pass the message; nothing was done")

    def delete(self, receipt: Receipt) -> Steps[None]:
        """Delete the message."""
        yield StepCall(self._client.delete_message, receipt.message_id, receipt.receipt)

    def extend(self, receipt: Receipt, seconds: int) -> Steps[str]:
        """Each call makes a new receipt; the old one is dead.

        By id, not by message: that would send the body again. And never without the seconds: that would show the
        message to everybody at once.
        """
        answer = yield StepCall(
            self._client.update_message, receipt.message_id, receipt.receipt, visibility_timeout=seconds
        )
        return str(answer.pop_receipt)

    def look(self, message_id: str) -> Steps[bool | None]:
        """A look shows the first 32 messages that are not leased. Others are not known ...

        ... unless the queue is empty: its count is never lower than what is there.
        """
        shown = yield StepCall(self._client.peek_messages, max_messages=_PEEK_LIMIT)
        if any(message.id == message_id for message in shown):
            return True
        properties = yield StepCall(self._client.get_queue_properties)
        return False if properties.approximate_message_count == 0 else None


def queue_of(client: Any, queue_url: str | None = None) -> Queue:
    """The queue of a client: with a URL it is one of SQS. Raises `BadArgument` for what cannot be one."""
    if not hasattr(client, "delete_message"):
        raise BadArgument(
            f"a {type(client).__name__} is not a queue client: pass a client of SQS, as boto3.client makes it, "
            "or as aiobotocore gives it by `async with`, or a QueueClient of the Azure SDK; nothing was done"
        )
    makers = {kind.__module__.partition(".")[0] for kind in type(client).__mro__}
    if queue_url is None:
        if makers & {"botocore", "aiobotocore"}:
            raise BadArgument("a client of SQS does not know its queue: pass queue_url=; nothing was done")
        return StorageQueue(client)
    if "azure" in makers:
        raise BadArgument("a client of Azure knows its queue: leave queue_url= out; nothing was done")
    if not queue_url:
        raise BadArgument("queue_url= is empty: pass the URL of the queue; nothing was done")
    return SqsQueue(client, queue_url)
