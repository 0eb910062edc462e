"""Lease: messages for a program that speaks HTTP, waited for if need be (long poll).

Each message comes with a token, by which the program touches and settles it (`settle.py`). If the connection is gone
before the answer is written, the messages are given back uncounted.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.errors import BadArgument, UnknownQueue
from tenure.server.consumers.consumers import Consumers, owner_of
from tenure.server.consumers.leasing import Flight, LeaseAsk
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Route
from tenure.server.routes.examples import ID, LEASE_TOKEN

#: A request waits for this long at most; the client asks again.
MOST_WAIT_SECONDS = 20.0
MOST_WANTED = 1_000
_MOST_QUEUES = 100
_LONGEST_REQUEST_ID = 200
#: No lease of any store is longer.
LONGEST_LEASE_SECONDS = 7 * 86_400

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_REQUEST_ID)]
Consumer = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
LeaseSeconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_LEASE_SECONDS)]


class LeaseMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages to lease."""

    #: Names, or patterns such as `acme-*`.
    queues: Annotated[list[str], msgspec.Meta(min_length=1, max_length=_MOST_QUEUES)]
    #: At most this many.
    want: Annotated[int, msgspec.Meta(ge=1, le=MOST_WANTED)] = 1
    #: How long no other consumer gets them, unless they are touched. Null: as the task or the app says.
    lease_seconds: LeaseSeconds | None = None
    #: If there is nothing, wait this many seconds for something.
    wait: Annotated[float, msgspec.Meta(ge=0, le=MOST_WAIT_SECONDS)] = 0.0
    #: Made by the client, new for each new request. Repeated after a lost answer, it gets the same messages.
    request_id: Text | None = None
    #: Tells programs that share an access token apart: letters, digits, dots and dashes.
    consumer: Consumer = "main"


class LeasedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message to work on."""

    id: str
    queue: str
    task: str
    #: Exactly as it was sent.
    payload: msgspec.Raw
    #: Names the lease in every later request. It stays the same when the lease is touched.
    token: str
    #: Number of this run, from 1, counting failed attempts only.
    attempt: int
    #: How often it was leased, with this time.
    deliveries: int
    #: Touch it within this time, at best every third of it, or settle it.
    lease_seconds: float
    expires_in_seconds: float
    #: The same as a moment (RFC 3339), by the server's clock.
    expires_at: str
    #: When it was sent (RFC 3339). Null: not known.
    sent_at: str | None
    priority: int
    key: str | None
    #: The app that sent it.
    client: str | None
    #: What it belongs to.
    correlation_id: str | None
    headers: dict[str, str]


class LeasedMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The leased messages; none, if there was nothing until the wait was over."""

    messages: list[LeasedMessage]


async def lease_messages(ask: Ask[None, LeaseMessages]) -> Response:
    """Lease messages, waiting for them if need be."""
    given, server, access = ask.body, ask.server, ask.operate.access
    await access.open()
    longest = access.broker.traits.max_lease_seconds
    if given.lease_seconds is not None and given.lease_seconds > longest:
        msg = f"lease_seconds: this store holds a lease for {longest:g} seconds at most; nothing was leased"
        raise BadArgument(msg)
    queues = await server.consumers.choice.meant(access, given.queues)
    tasks = ask.app.tasks.values() if given.lease_seconds is None else ()
    request = LeaseAsk(
        owner=owner_of(ask.principal, given.consumer),
        queues=queues,
        want=given.want,
        seconds=given.lease_seconds or ask.app.settings.lease_seconds,
        seconds_by_task={task.name: task.policy.lease.seconds for task in tasks if not task.policy.lease.is_learned},
        wait=given.wait,
        request_id=given.request_id,
    )
    flight = Flight()
    watching = asyncio.create_task(_watch(ask.request, flight, server.stopping))
    try:
        with server.waiting.slot() if given.wait else contextlib.nullcontext() as may_wait:
            if not may_wait:
                request = msgspec.structs.replace(request, wait=0.0)
            found = await server.consumers.lease(request, flight)
        try:
            body = await _encoded(server.consumers, found, ask)
        except BaseException:
            await server.consumers.give_back(found)
            raise
    except BaseException:
        watching.cancel()
        raise
    return LeaseResponse(body, found, server.consumers, flight, watching)


async def _watch(request: Request, flight: Flight, stopping: asyncio.Event) -> None:
    """End the wait when the client leaves or the server stops."""
    ending = asyncio.create_task(_note_stop(stopping, flight))
    try:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        flight.leave()
    finally:
        ending.cancel()


async def _note_stop(stopping: asyncio.Event, flight: Flight) -> None:
    await stopping.wait()
    flight.must_end.set()


async def _encoded(consumers: Consumers, found: Sequence[RemoteDelivery], ask: Ask[None, LeaseMessages]) -> bytes:
    now, wall = ask.app.clock.monotonic(), ask.app.state.wall()
    messages = []
    for one in found:
        lease, message = one.lease, one.whole
        assert message is not None  # noqa: S101 - what cannot be read is no client's
        left = round(lease.remaining(now), 3)
        messages.append(
            LeasedMessage(
                id=one.id, queue=lease.queue, task=message.task, payload=message.body,
                token=await consumers.tokens.write(consumers.name_of(one)), attempt=one.attempt,
                deliveries=max(1, lease.counters.deliveries), lease_seconds=lease.seconds, expires_in_seconds=left,
                expires_at=_moment(wall + left), sent_at=_moment(message.sent_at) if message.sent_at else None,
                priority=message.priority, key=message.key, client=message.client,
                correlation_id=message.correlation_id, headers=message.headers,
            )
        )  # fmt: skip
        one.forget_body()
    return msgspec.json.encode(LeasedMessages(messages=messages))


def _moment(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LeaseResponse(Response):
    """The answer. Whether the client is still there is looked at in the moment in which it is written."""

    media_type = "application/json"

    def __init__(
        self,
        body: bytes,
        found: Sequence[RemoteDelivery],
        consumers: Consumers,
        flight: Flight,
        watching: "asyncio.Task[None]",
    ) -> None:
        """Answer with `body`; if the client has left, give back what was found."""
        super().__init__(body)
        self._found = found
        self._consumers = consumers
        self._flight = flight
        self._watching = watching

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write it, or give back."""
        try:
            await asyncio.sleep(0)  # a client that has left by now is seen by the watch
            if self._flight.client_left and not self._flight.is_repeated:
                await self._consumers.give_back(self._found)
                return
            await super().__call__(scope, receive, send)
        finally:
            self._watching.cancel()


ROUTES = (
    Route(
        method="POST", path="/lease", scope=AccessScope.CONSUME, handler=lease_messages, body=LeaseMessages,
        answer=LeasedMessages, summary="Lease messages",
        description=(
            "Up to `want` messages of these queues, each for `lease_seconds`; with `wait` the request stays open until "
            f"there is one, at most {MOST_WAIT_SECONDS:g} s. Work on them, touch the leases every third of their "
            "length, and settle each by its `token`. Send a new `request_id` with each new request: after a lost "
            "answer the same request with the same id gets the same messages, at every server. A client that leaves"
            " before the answer is written gets nothing, and the messages are given back uncounted. A lease that "
            "ends without a touch counts as lost; one that was touched and then ends has used an attempt. A server "
            "that has too many waiting requests answers at once."
        ),
        body_example={
            "queues": ["acme-tasks"], "want": 10, "lease_seconds": 30, "wait": 20, "request_id": "5c1d0e2f",
            "consumer": "shop-1",
        },
        example={"messages": [{
            "id": ID, "queue": "acme-tasks", "task": "resize", "payload": {"image": "a.png", "width": 800},
            "token": LEASE_TOKEN, "attempt": 1, "deliveries": 1, "lease_seconds": 30.0, "expires_in_seconds": 29.99,
            "expires_at": "2026-01-01T00:00:29.990Z", "sent_at": "2025-12-31T23:59:58.120Z", "priority": 5,
            "key": None, "client": "acme", "correlation_id": None, "headers": {},
        }]},
        errors=(UnknownQueue, BadArgument),
    ),
)  # fmt: skip
