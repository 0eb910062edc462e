"""The tasks of a service, through one client of its app: what both kinds of code do. Used by `service.py`."""

import contextlib
import uuid
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

import msgspec

from tenure.app import Tenure
from tenure.client.client import Client, plain_reader
from tenure.errors import BadArgument, MessageNotFound
from tenure.foreign import Foreign, read_task
from tenure.key_value import name_of
from tenure.record import Record
from tenure.rules.arguments import TASK_ID_MARK
from tenure.rules.rejections import error_of
from tenure.service.status import TaskStatus, status_of
from tenure.service.wire import readable
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Handle
from tenure.tasks.task_address import TaskAddress

#: Documents that say which message is which task, where a plain producer has put it into the queue itself.
KIND = "task-id"


class NotedTask(msgspec.Struct, frozen=True):
    """Which message a task is."""

    message_id: str
    task_type: str


class TaskBook:
    """The tasks of one app, through its client for async code or the one for code that is not."""

    def __init__(self, app: Tenure, client: Client, *, sender: str | None, plain: bool) -> None:
        """Submit for `sender`; with `plain` so that others can read it."""
        self._app = app
        self._client = client
        self._sender = sender
        self._plain = plain

    async def submit(
        self, task_type: str, payload: Mapping[str, Any] | None, task_id: str | None, webhook_url: str | None,
        options: Options, *, is_foreign: bool = False,
    ) -> str:  # fmt: skip
        """Store a task; its id. `is_foreign`: keys of the payload that the handler does not know are ignored."""
        app, client = self._app, self._client
        await client.open()
        if app.tasks:
            task = app.find(task_type)
            given = raw_of(payload or {}) if is_foreign else payload or {}
            call: Call[Any] = Call(task, task.signature.payload(given))
        else:
            address = TaskAddress(task_type, app.queue, app.settings.webhook, follows_client=True)
            call = Call(address, raw_of(payload or {}))
        id = task_id or str(uuid.uuid4())
        merged: Options = {**options, "id": id}
        if self._sender is not None:
            merged.setdefault("client", self._sender)
        if webhook_url is not None:
            merged["webhook"] = webhook_url
        out = outgoing(call, merged, id=id, client=app.client, sent_at=client.state.wall())
        (sent,) = await client.send([readable(out, id, webhook_url) if self._plain else out])
        if sent.refusal is not None:
            raise error_of(sent.refusal)
        return id

    async def accept(self, raw: bytes | str) -> str:
        """Store a task as a plain producer wrote it; its id."""
        task = read_task(Foreign(queue="", id="", raw=raw.encode() if isinstance(raw, str) else raw))
        if task is None:
            msg = f"{raw[:60]!r} is no task: it needs a task_type, and a payload that is an object. Nothing was sent"
            raise BadArgument(msg)
        options = cast("Options", {name: value for name, value in task.options.items() if name != "key"})
        webhook = str(options.pop("webhook", None) or "").partition(TASK_ID_MARK)[0]
        return await self.submit(task.type, task.payload, task.id, webhook or None, options, is_foreign=True)

    async def record(self, task_id: str) -> Record:
        """What is known of a task. Raises `MessageNotFound`."""
        client = self._client
        record = await client.record(task_id)
        if record is None:
            record = await self._noted(task_id)
        if record is None:
            msg = f"no task {task_id} is known here: it was never submitted to this place, or its record has expired"
            raise MessageNotFound(msg)
        return record

    async def _noted(self, task_id: str) -> Record | None:
        """The record of a task that a plain producer has put into the queue itself."""
        document = await self._client.state.key_values.get(KIND, name_in(self._app, task_id))
        if document is None:
            return None
        noted = msgspec.json.decode(document.data, type=NotedTask)
        record = await self._client.record(noted.message_id)
        # What lies in the queue does not say its task where Tenure looks for it.
        return None if record is None else msgspec.structs.replace(record, task=record.task or noted.task_type)

    async def handle(self, task_id: str) -> Handle[Any]:
        """A handle on the message of a task. Raises `MessageNotFound`."""
        record = await self.record(task_id)
        return Handle(self._client, record.id, plain_reader(), queue=record.queue)

    async def updates(self, task_id: str) -> AsyncGenerator[TaskStatus]:
        """Yield where a task is, now and after each change, until it has ended. Raises `MessageNotFound`."""
        handle = await self.handle(task_id)
        async with contextlib.aclosing(handle.updates()) as updates:
            async for update in updates:
                yield status_of(task_id, update.record)


def name_in(app: Tenure, task_id: str) -> str:
    """The name of the document that says which message a task is."""
    return name_of(task_id if app.namespace is None else f"{app.namespace}/{task_id}")


def raw_of(payload: Mapping[str, Any]) -> msgspec.Raw:
    """A payload as it is stored."""
    return msgspec.Raw(msgspec.json.encode(payload))
