"""A delivery: the message that carries one ending to one receiver. Pure.

It is a message like any other, of the task `webhook.deliver` on the reserved queue `webhooks`, so it has a lease,
retries, a dead letter and a redrive (a replay). It names its endpoint and never holds a secret. Its id is made of the
ending and the receiver: made again after a crash, it is the same one.

Made by `webhook_target.py` of an `Announcement`; posted by `deliver.py`.
"""

import hashlib
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from tenure.announcement import Announcement
from tenure.message import Message, MessageState, Outgoing
from tenure.monitoring.telemetry import TRACEPARENT
from tenure.rules.reserved_queue import reserved_queue
from tenure.webhooks.targets import WebhookTarget

TASK = "webhook.deliver"
#: The status words that receivers get.
STATUS = {MessageState.COMPLETED: "completed", MessageState.DEAD: "failed", MessageState.CANCELLED: "cancelled"}
_STATE_PATH = "/api/v1/messages/"


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What the receiver gets, as JSON. A receiver that gets several of one `task_id` keeps the newest generation."""

    task_id: str
    #: completed, failed or cancelled.
    status: str
    #: What the handler returned. Null: it is too large, or there is none.
    result: msgspec.Raw = msgspec.Raw(b"null")
    #: Why it failed, or null.
    error: str | None = None
    #: The code of that, such as `max_attempts`, or null.
    error_code: str | None = None
    #: How often the work had been redriven when it ended.
    generation: int = 0
    #: RFC 3339, UTC.
    ended_at: str
    #: Where a result that is too large can be read. Null: it is in `result`, or no address of the server is known.
    result_url: str | None = None
    #: Bytes of such a result.
    result_size: int | None = None


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of a delivery: the parameters of `webhook.deliver`."""

    endpoint: str
    webhook_id: str
    body: msgspec.Raw
    #: None: the endpoint's own.
    url: str | None = None


def webhook_id(ending: Announcement, target: WebhookTarget) -> str:
    """The same for the same ending and receiver, in every process; for the message and for the header."""
    parts = (ending.queue, ending.id, str(ending.generation), target.endpoint or "", target.url or "")
    digest = hashlib.sha256(b"\x1f".join(quote(part, safe="").encode() for part in parts)).hexdigest()
    return f"whd_{digest[:32]}"


def body_of(
    ending: Announcement, *, task_id: str | None = None, public_url: str | None = None, inline: bool = True
) -> bytes:
    """The body that the receiver gets. `inline=False`: the result is linked, because the broker takes no such body."""
    result, size = ending.result, ending.large_result
    if result is not None and not inline:
        size, result = len(result), None
    link = None if size is None or public_url is None else f"{public_url}{_STATE_PATH}{quote(ending.id, safe='')}"
    is_dead = ending.ending is MessageState.DEAD
    body = Body(
        task_id=task_id or ending.id,
        status=STATUS[ending.ending],
        result=msgspec.Raw(b"null" if result is None else result),
        error=ending.reason.text if is_dead and ending.reason is not None else None,
        error_code=ending.reason.code if is_dead and ending.reason is not None else None,
        generation=ending.generation,
        ended_at=datetime.fromtimestamp(ending.ended_at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        result_url=link,
        result_size=size,
    )
    return msgspec.json.encode(body)


def sample_body(wall: float) -> bytes:
    """The body of a test request: a receiver answers it with 2xx, and does nothing."""
    ended_at = datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.json.encode(Body(task_id="test", status="test", ended_at=ended_at))


def delivery_of(
    ending: Announcement, target: WebhookTarget, *, namespace: str | None, sent_at: float,
    public_url: str | None = None, inline: bool = True,
) -> Outgoing:  # fmt: skip
    """The message that delivers `ending` to `target`. It carries the client of its work; it announces nothing."""
    id = webhook_id(ending, target)
    body = body_of(ending, task_id=target.task_id, public_url=public_url, inline=inline)
    payload = Payload(endpoint=target.endpoint or "", webhook_id=id, url=target.url, body=msgspec.Raw(body))
    message = Message(
        id=id if namespace is None else f"{namespace}/{id}",
        queue=reserved_queue(namespace),
        task=TASK,
        body=msgspec.Raw(msgspec.json.encode(payload)),
        client=ending.client,
        correlation_id=ending.correlation_id or ending.id,
        parent_id=ending.id,
        sent_at=sent_at,
        headers={} if target.trace is None else {TRACEPARENT: target.trace},
    )
    return Outgoing(message)


def payload_of(message: Message) -> Payload:
    """Read the payload of a delivery, for those who list them."""
    return msgspec.json.decode(bytes(message.body), type=Payload)
