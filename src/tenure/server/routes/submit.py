"""Submit: one message for a task, its payload checked by the task's own signature where the server knows the code."""

import contextlib
from typing import Any
from urllib.parse import quote

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_name
from tenure.errors import (
    BadArgument,
    BodyTooLarge,
    KeyConflict,
    PayloadInvalid,
    QuotaExceeded,
    UnknownQueue,
    UnknownTask,
)
from tenure.rules.client_queue import check_client, queue_of_client
from tenure.server.guard.request_path import prefix_of
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NEW_ID
from tenure.server.routes.message_options import (
    IDEMPOTENCY_HEADER,
    IDEMPOTENCY_MEANING,
    MessageOptions,
    idempotency_key,
    options_of,
)
from tenure.server.routes.sending_client import sending_client
from tenure.server.routes.taken_id import is_hidden
from tenure.tasks.build_message import destination
from tenure.tasks.call import Call
from tenure.tasks.handle import Handle
from tenure.tasks.task import Task
from tenure.tasks.task_address import TaskAddress


class Submission(MessageOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message for a task."""

    #: The handler's parameters by name. Default: none.
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Another queue than the task's; default: the task's own, or `{client}-tasks`.
    queue: str | None = None


class SubmittedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The stored message of the submission."""

    id: str
    queue: str
    #: Nothing new was stored: it is an earlier message with the same id, key or unique value.
    duplicate: bool


async def submit_task(ask: Ask[None, Submission]) -> Reply:
    """Submit one message, checked against its task."""
    access, given, name = ask.operate.access, ask.body, ask.path["task"]
    key = idempotency_key(ask.request)
    await access.open()
    call = _call(ask, name)
    options = options_of(given, None if key is None else f"{key}:0")
    queue = destination(call, options)
    options["client"] = sending_client(access, given.client, queue)
    if not access.sees(queue):
        # The same sentence as for an unknown task, so that the two look alike.
        raise (
            _unknown(name)
            if given.queue is None
            else UnknownQueue(f"no queue {given.queue!r} is there; nothing was sent")
        )
    handle: Handle[object] = await ask.app._submit_call(call, options)
    if handle.duplicate and await is_hidden(access, handle.id):
        msg = "this id or key belongs to another message; use another one. Nothing was sent"
        raise BadArgument(msg)
    answer = SubmittedMessage(id=handle.id, queue=queue, duplicate=handle.duplicate)
    location = f"{prefix_of(ask.request.scope)}/api/v1/messages/{quote(handle.id, safe='')}"
    return Reply(value=answer, status=200 if handle.duplicate else 201, headers={"Location": location})


def _call(ask: Ask[None, Submission], name: str) -> Call[object]:
    """The payload as the task takes it. With a URL there is no code to check it against. Raises `UnknownTask`."""
    app, access, given = ask.app, ask.operate.access, ask.body
    where = None if given.queue is None else full_name(access, given.queue)
    raw = given.payload if isinstance(given.payload, msgspec.Raw) else msgspec.Raw(b"{}")
    if not app.tasks:
        return Call(TaskAddress(name, where or app.queue, app.settings.webhook, where is None), raw)
    task = app.tasks.get(name)
    follows = where is None and task is not None and task.follows_client
    if task is None or (where is None and not access.sees(_own_queue(access, task, given.client))):
        if access.sees_every_queue:
            app.find(name)  # raises, with what may have been meant
        raise _unknown(name)
    with contextlib.suppress(msgspec.DecodeError):  # a number that Python cannot hold: the signature decides by itself
        payload = msgspec.json.decode(raw)
        if isinstance(payload, dict):
            task.signature.payload(payload)  # also names unknown fields; bytes alone may come from a newer sender
    return Call(TaskAddress(task.name, where or task.queue, task.webhook, follows), task.signature.payload(raw))


def _own_queue(access: Access, task: Task[..., Any], client: str | None) -> str:
    """Where a message of that client goes if no queue is named."""
    if client is None or not task.follows_client:
        return task.queue
    return queue_of_client(check_client(client), access.namespace)


def _unknown(name: str) -> UnknownTask:
    return UnknownTask(f"no task {name!r} is known here; nothing was sent")


ROUTES = (
    Route(
        method="POST", path="/tasks/{task}/submit", scope=AccessScope.SEND, handler=submit_task, body=Submission,
        answer=SubmittedMessage, status=201, summary="Submit a task",
        description=(
            "Where the server was started with the app's code, the payload is checked by the task's signature: a wrong "
            "one is 422 with the same sentence as in Python. `Location` is the message. Work that was submitted "
            "before, by the same `id`, `key`, `unique` or `Idempotency-Key`, is answered 200 with `duplicate`."
        ),
        body_example={"payload": {"image": "a.png", "width": 800}, "priority": 9},
        example={"id": NEW_ID, "queue": "acme-tasks", "duplicate": False},
        errors=(UnknownTask, UnknownQueue, PayloadInvalid, BadArgument, BodyTooLarge, KeyConflict, QuotaExceeded),
        headers={IDEMPOTENCY_HEADER: IDEMPOTENCY_MEANING},
        also={200: "Nothing new was stored: the same work was submitted before."},
    ),
)  # fmt: skip
