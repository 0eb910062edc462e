"""Send: stores messages as they are, for tasks whose code need not be here. Fast; `submit.py` checks payloads.

One answer for each entry, in order: a message that is refused does not hold up the others. What becomes of an entry
never depends on a queue that does not exist for the one who asks.
"""

import base64
import binascii
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec

from tenure.broker import Sent
from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_name
from tenure.errors import BadArgument, BrokerError, PayloadInvalid, QuotaExceeded, TenureError, UnknownQueue
from tenure.message import Outgoing, new_id
from tenure.rules.client_queue import check_client, queue_of_client
from tenure.server.principal import AccessScope
from tenure.server.problem import RETRY_AFTER_SECONDS, problem_of
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NEW_ID
from tenure.server.routes.message_options import (
    IDEMPOTENCY_HEADER,
    IDEMPOTENCY_MEANING,
    MessageOptions,
    idempotency_key,
    options_of,
)
from tenure.server.routes.sending_client import sending_client
from tenure.server.routes.taken_id import is_hidden
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call
from tenure.tasks.task_address import TaskAddress

MOST_ENTRIES = 1_000


class NewMessage(MessageOptions, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One message to send. Its payload is any JSON value; it is stored exactly as it is given."""

    #: Default: that of its client, `{client}-tasks`.
    queue: str | None = None
    #: The task that it is for.
    task: str
    #: Any JSON value.
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: The same as JSON text in base64, for clients that must keep every byte. Instead of `payload`.
    payload_base64: str | None = None


class NewMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages to send."""

    messages: Annotated[list[NewMessage], msgspec.Meta(min_length=1, max_length=MOST_ENTRIES)]


class SendOutcome(StrEnum):
    """What became of one entry."""

    #: It is stored, and cannot be lost any more.
    SENT = "sent"
    #: An earlier message has the same id, key or unique value; nothing new was stored.
    DUPLICATE = "duplicate"
    #: It cannot be sent as it is.
    REFUSED = "refused"
    #: The store did not take it for now: send it again, with the same id.
    FAILED = "failed"


class SentMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one entry."""

    #: The id of the stored message for this entry. Null: there is none.
    id: str | None
    outcome: SendOutcome
    #: Why it was refused or failed: a stable code, and a sentence. Null: it was not.
    code: str | None = None
    detail: str | None = None
    #: For one that failed: it may have been stored anyway.
    outcome_unknown: bool = False


class SentMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each entry, in order."""

    messages: list[SentMessage]


async def send_messages(ask: Ask[None, NewMessages]) -> Reply:
    """Send the messages."""
    access, key = ask.operate.access, idempotency_key(ask.request)
    await access.open()
    places: list[int] = []
    batch: list[Outgoing] = []
    told: list[SentMessage | None] = [None] * len(ask.body.messages)
    places_of: dict[tuple[str | None, str | None], tuple[str, str]] = {}
    wall, webhook = access.state.wall(), ask.app.settings.webhook
    for place, entry in enumerate(ask.body.messages):
        try:
            asked = (entry.queue, entry.client)
            queue, client = places_of.get(asked) or places_of.setdefault(asked, _place(access, *asked))
            options = options_of(entry, None if key is None else f"{key}:{place}")
            call: Call[None] = Call(TaskAddress(entry.task, queue, webhook), _payload(entry), options)
            batch.append(outgoing(call, {}, id=new_id(wall), client=client, sent_at=wall))
            places.append(place)
        except TenureError as error:
            told[place] = _refused(error)
    for place, answer in zip(places, await _send(access, batch), strict=True):
        told[place] = answer
    answers = [one for one in told if one is not None]
    full = [one for one in answers if one.code == QuotaExceeded.code]
    if len(full) == len(answers):
        raise QuotaExceeded(full[0].detail or "")
    headers = {"Retry-After": f"{RETRY_AFTER_SECONDS:.0f}"} if full else {}
    return Reply(value=SentMessages(messages=answers), headers=headers)


async def _send(access: Access, batch: Sequence[Outgoing]) -> list[SentMessage]:
    """Send a batch; returns one answer for each. Raises the error where nothing was sent, as far as is known."""
    limit = access.broker.traits.batch_limit
    answers: list[SentMessage] = []
    for start in range(0, len(batch), limit):
        some = batch[start : start + limit]
        try:
            sent = await access.client.send(some)
        except BrokerError as error:
            if start == 0:
                raise
            answers += [_failed(error)] * len(some)
            # Later ones would meet the same: they are not tried, and nothing is sent twice.
            rest = BrokerError("not tried, because the messages before it could not be sent")
            return [*answers, *[_failed(rest)] * (len(batch) - len(answers))]
        answers += [await _answer(access, one) for one in sent]
    return answers


async def _answer(access: Access, sent: Sent) -> SentMessage:
    if sent.refusal is not None:
        return SentMessage(id=None, outcome=SendOutcome.REFUSED, code=sent.refusal.code, detail=sent.refusal.text)
    if not sent.duplicate:
        return SentMessage(id=sent.id, outcome=SendOutcome.SENT)
    if await is_hidden(access, sent.id):
        return _refused(BadArgument("this id or key belongs to another message; use another one. Nothing was sent"))
    return SentMessage(id=sent.id, outcome=SendOutcome.DUPLICATE)


def _place(access: Access, queue: str | None, client: str | None) -> tuple[str, str]:
    """The queue in the broker, and the client. Raises `UnknownQueue` for what is not there for the one who asks."""
    if queue is None:
        owner = access.registry.client if client is None else check_client(client)
        name = queue_of_client(owner, access.namespace)
    else:
        name = full_name(access, queue)
    if not access.sees(name):
        msg = f"no queue {queue or name!r} is there for this access; nothing was sent"
        raise UnknownQueue(msg)
    return name, sending_client(access, client, name)


def _payload(entry: NewMessage) -> msgspec.Raw:
    given, text = entry.payload, entry.payload_base64
    if isinstance(given, msgspec.Raw) and text is None:
        return given
    if isinstance(given, msgspec.Raw) or text is None:
        msg = "an entry has payload or payload_base64, one of them; nothing was sent"
        raise BadArgument(msg)
    try:
        raw = base64.b64decode(text, validate=True)
        msgspec.json.decode(raw, type=msgspec.Raw)  # of any size: a number that fits no float stays as it is
    except (binascii.Error, ValueError, RecursionError) as error:
        msg = f"payload_base64 is not JSON text in base64: {error}; nothing was sent"
        raise PayloadInvalid(msg) from error
    return msgspec.Raw(raw)


def _refused(error: TenureError) -> SentMessage:
    return SentMessage(id=None, outcome=SendOutcome.REFUSED, code=error.code, detail=str(error))


def _failed(error: BrokerError) -> SentMessage:
    problem = problem_of(error)
    return SentMessage(
        id=None,
        outcome=SendOutcome.FAILED,
        code=problem.code,
        detail=problem.detail,
        outcome_unknown=problem.outcome_unknown,
    )


ROUTES = (
    Route(
        method="POST", path="/messages", scope=AccessScope.SEND, handler=send_messages, body=NewMessages,
        answer=SentMessages, summary="Send messages",
        description=(
            f"Up to {MOST_ENTRIES:,} in one request, each for a task by its name; nothing is checked against the "
            "task's code. The answer is 200 with one outcome for each entry, in order: one that is refused does not "
            "hold up the others. Where a quota refuses all of them, the answer is 429 with `Retry-After`; where it "
            "refuses some, 200 has that header. A request may be repeated if its entries have an `id`, or with an "
            "`Idempotency-Key`."
        ),
        body_example={"messages": [
            {"queue": "acme-tasks", "task": "resize", "payload": {"image": "a.png"}},
            {"queue": "acme-tasks", "task": "resize", "payload": {"image": "b.png"}, "priority": 9, "id": "b-1"},
        ]},
        example={"messages": [
            {"id": NEW_ID, "outcome": "sent", "code": None, "detail": None, "outcome_unknown": False},
            {"id": ID, "outcome": "duplicate", "code": None, "detail": None, "outcome_unknown": False},
        ]},
        headers={IDEMPOTENCY_HEADER: IDEMPOTENCY_MEANING}, errors=(QuotaExceeded,),
    ),
)  # fmt: skip
