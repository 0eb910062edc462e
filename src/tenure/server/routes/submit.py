"""Submit: one message for a task, its payload checked by the task's own signature where the server knows the code."""

import contextlib
from urllib.parse import quote

import msgspec

from tenure.call import Call
from tenure.client.operations.naming import full_name
from tenure.errors import (
    BadArgument,
    BodyTooLarge,
    KeyConflict,
    PayloadInvalid,
    UnknownQueue,
    UnknownTask,
)
from tenure.handle import Handle
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
from tenure.server.routes.send import TaskAddress
from tenure.server.routes.taken_id import is_hidden


class Submission(MessageOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message for a task."""

    #: The handler's parameters by name. Default: none.
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Another queue than the task's.
    queue: str | None = None


class SubmittedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The message that stands for the submission."""

    id: str
    queue: str
    #: Nothing new was stored: it is an earlier message with the same id, key or unique value.
    duplicate: bool


async def submit_task(ask: Ask[None, Submission]) -> Reply:
    """Send one, checked."""
    access, given, name = ask.operate.access, ask.body, ask.path["task"]
    key = idempotency_key(ask.request)
    await access.open()
    call = _call(ask, name)
    if not access.sees(call.task.queue):
        # In the same words as for a task that nobody knows, so that it cannot be told from one.
        raise (
            _unknown(name)
            if given.queue is None
            else UnknownQueue(f"no queue {given.queue!r} is there; nothing was sent")
        )
    options = options_of(given, None if key is None else f"{key}:0")
    handle: Handle[object] = await ask.app._submit_call(call, options)
    if handle.duplicate and await is_hidden(access, handle.id):
        msg = "this id or key belongs to another message; use another one. Nothing was sent"
        raise BadArgument(msg)
    answer = SubmittedMessage(id=handle.id, queue=call.task.queue, duplicate=handle.duplicate)
    location = f"{prefix_of(ask.request.scope)}/api/v1/messages/{quote(handle.id, safe='')}"
    return Reply(value=answer, status=200 if handle.duplicate else 201, headers={"Location": location})


def _call(ask: Ask[None, Submission], name: str) -> Call[object]:
    """The payload as the task takes it. With a URL there is no code to check it against. Raises `UnknownTask`."""
    app, access, given = ask.app, ask.operate.access, ask.body
    where = None if given.queue is None else full_name(access, given.queue)
    raw = given.payload if isinstance(given.payload, msgspec.Raw) else msgspec.Raw(b"{}")
    if not app.tasks:
        return Call(TaskAddress(name, where or app.queue), raw)
    task = app.tasks.get(name)
    if task is None or (where is None and not access.sees(task.queue)):
        if access.sees_every_queue:
            app.find(name)  # raises, with what may have been meant
        raise _unknown(name)
    with contextlib.suppress(msgspec.DecodeError):  # a number that Python cannot hold: the signature decides by itself
        payload = msgspec.json.decode(raw)
        if isinstance(payload, dict):
            task.signature.payload(payload)  # names what nobody knows too; bytes alone may be a newer sender's
    return Call(TaskAddress(task.name, where or task.queue), task.signature.payload(raw))


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
        errors=(UnknownTask, UnknownQueue, PayloadInvalid, BadArgument, BodyTooLarge, KeyConflict),
        headers={IDEMPOTENCY_HEADER: IDEMPOTENCY_MEANING},
        also={200: "Nothing new was stored: an earlier message stands for it."},
    ),
)  # fmt: skip
