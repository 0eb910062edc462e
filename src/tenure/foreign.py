"""Foreign messages: messages in a queue that Tenure did not send, and the route that turns each into a call.

    @app.on_foreign("images")
    def route(foreign: Foreign) -> Call | None:
        order = foreign.json()
        return resize.bind(order["image"]).having(key=order["order_id"])

A route is asked whenever such a message is leased, also after a return or a redrive, so it must give the same answer
each time; it must not wait. From its answer on the message goes the way of every other one, under the id that its
service gave it. None: no route knows it, and it goes to the dead letters unchanged.

Asked by `runtime/path/admission.py`. Before: `Broker.lease`.
"""

import base64
import binascii
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from tenure.errors import BadArgument, BadTask, BodyUndecodable
from tenure.message import Message
from tenure.rules.arguments import TASK_ID_MARK, is_webhook, meant
from tenure.rules.client_queue import client_of_queue
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Callable_, Options

if TYPE_CHECKING:
    from tenure.lease import Lease
    from tenure.tasks.task import Task

R = TypeVar("R")

#: What a route's call may bring along; everything else was decided when the message was sent.
_TAKEN = frozenset({"key", "correlation_id", "headers", "max_attempts", "lease", "max_hold", "webhook"})


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """A message that Tenure did not send, as it lay in its queue."""

    queue: str
    #: Made of the service's own id: the same at every delivery.
    id: str
    #: Exactly what lay there.
    raw: bytes
    #: What the service carried beside the body: SQS's message attributes, binary ones as base64.
    attributes: dict[str, str] = {}
    #: Wall time. None: the service does not say.
    sent_at: float | None = None

    @property
    def text(self) -> str:
        """The body as text, as it lay there. What is not UTF-8 shows as replacement characters."""
        return self.raw.decode("utf-8", "replace")

    def json(self) -> Any:
        """The JSON value in it, also within base64, as Azure Functions writes it. Raises `BodyUndecodable`."""
        return msgspec.json.decode(self._json()[0])

    def call(self, task: "Task[..., R]", payload: Mapping[str, Any] | None = None) -> Call[R]:
        """A call of `task` with the whole JSON object as its payload, or with `payload`.

        Unlike `task.bind`, keys that the handler does not know are ignored; what does not fit fails when it is run.
        """
        body = self._json()[0] if payload is None else msgspec.json.encode(payload)
        return Call(task, msgspec.Raw(body))

    def _json(self) -> tuple[bytes, Any]:
        for raw in (self.raw, _unpacked(self.raw)):
            if raw is not None:
                try:
                    return raw, msgspec.json.decode(raw)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue
        msg = f"message {self.id} is neither JSON nor base64 of JSON: {self.raw[:60]!r}"
        raise BodyUndecodable(msg)


def _unpacked(raw: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(raw.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


class ForeignTask(msgspec.Struct, frozen=True):
    """A task as queues of the kind `{"task_id", "task_type", "payload"}` carry it."""

    type: str
    payload: dict[str, Any] = {}
    id: str | None = None
    #: What the sender decided for this one: the id as key and correlation, and what `custom_…` says.
    options: Options = {}
    #: Everything else that stood there.
    rest: dict[str, Any] = {}

    def call(self, task: "Task[..., R]") -> Call[R]:
        """A call of `task` with its payload and options. Keys that the handler does not know are ignored."""
        return Call(task, msgspec.Raw(msgspec.json.encode(self.payload)), self.options)


_WORDS = {
    "type": ("task_type", "type"),
    "payload": ("payload",),
    "id": ("task_id",),
    "lease": ("custom_ack_timeout", "ack_timeout"),
    "max_attempts": ("custom_max_attempts",),
    "webhook": ("webhook_url",),
}


def read_task(foreign: Foreign) -> ForeignTask | None:
    """Read a task of that kind.

    Its words are `task_id`, `task_type`, `payload`, `webhook_url`, `custom_ack_timeout` (or `ack_timeout`) and
    `custom_max_attempts`. None: it is not of that kind.
    """
    try:
        said = foreign.json()
    except BodyUndecodable:
        return None
    if not isinstance(said, dict):
        return None
    found = {}
    for what, names in _WORDS.items():
        told = [word for word in [said.pop(name, None) for name in names] if word is not None]
        if told:
            found[what] = told[0]
    kind, payload, id = found.get("type"), found.get("payload", {}), found.get("id")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return None
    options: Options = {}
    if id not in (None, ""):
        options["key"] = options["correlation_id"] = id = str(id)
    if "lease" in found:
        options["lease"] = found["lease"]
    if "max_attempts" in found:
        options["max_attempts"] = found["max_attempts"]
    if is_webhook(found.get("webhook")):
        # Its receiver knows the work by this id, not by that of the service.
        options["webhook"] = found["webhook"] + (f"{TASK_ID_MARK}{quote(id, safe='')}" if id else "")
    return ForeignTask(kind, payload, id, options, said)


Route = Callable[[Foreign], Call[Any] | None]
F = TypeVar("F", bound=Route)


class Router:
    """The routes of an app, by queue."""

    def __init__(self, client: str | None) -> None:
        """Start without routes. Calls are made on behalf of `client`."""
        self._client = client
        #: None: for every queue without a route of its own.
        self._routes: dict[str | None, Route] = {}

    def add(self, queue: str | None, route: F) -> F:
        """Ask `route` about what is foreign in `queue`; None: in every queue that has no route of its own."""
        given: object = route
        if not callable(given) or inspect.iscoroutinefunction(given):
            msg = f"{route!r} cannot be a route: a route is a plain function from a Foreign to a call or None"
            raise BadTask(msg)
        if queue in self._routes:
            where = "every queue" if queue is None else f"queue {queue!r}"
            msg = f"foreign messages of {where} have a route already; let one function decide"
            raise BadTask(msg)
        self._routes[queue] = route
        return route

    @property
    def has_default(self) -> bool:
        """Whether there is a route for queues without one of their own."""
        return None in self._routes

    def knows(self, queue: str) -> bool:
        """Whether there is a route for the queue."""
        return queue in self._routes or None in self._routes

    def message(self, lease: "Lease") -> Message | None:
        """Read the leased message by its route. None: no route knows it. Raises what the route raises."""
        route = self._routes.get(lease.queue) or self._routes[None]
        foreign = Foreign(
            queue=lease.queue, id=lease.id, raw=lease.envelope, attributes=lease.attributes, sent_at=lease.sent_at
        )
        call: object = route(foreign)
        if call is None:
            return None
        if not isinstance(call, Call):
            msg = f"the route of {lease.queue!r} returned {call!r}, which is neither task.bind(…) nor None"
            raise BadArgument(msg)
        return self._read(call, lease)

    def _read(self, call: Call[Any], lease: "Lease") -> Message:
        refused = sorted(call.options.keys() - _TAKEN)
        if refused:
            msg = (
                f"a message that is already in its queue takes no {', '.join(refused)}; "
                f"{meant(refused[0], _TAKEN)}. It was not run"
            )
            raise BadArgument(msg)
        task: Callable_ = call.task
        client = client_of_queue(lease.queue) or self._client
        made = outgoing(call, {}, id=lease.id, client=client, sent_at=lease.sent_at or 0.0).message
        return msgspec.structs.replace(
            made, id=lease.id, queue=lease.queue, task=task.name, generation=lease.generation
        )


__all__ = ["Foreign", "ForeignTask", "Route", "Router", "read_task"]
