"""Webhook endpoints over HTTP: list, add, change, rotate, disable, enable, remove, test.

Who may see every queue sees them. To add one, or to change where it points or its secret, takes the scope `admin`: it
decides to whom results go. To disable, enable or test one takes `operate`.
"""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.webhook_endpoints import (
    EndpointChange,
    EndpointList,
    EndpointSecret,
    EndpointStatus,
    EndpointTest,
)
from tenure.errors import EndpointExists, SecretUnreadable, UnknownEndpoint
from tenure.message import MessageState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery
from tenure.webhooks.endpoint import ENDINGS
from tenure.webhooks.endpoints import ROTATION_SECONDS

_LONGEST_REASON = 500


class EndpointPage(EndpointList, frozen=True, kw_only=True):
    """One page of the endpoints, by name."""

    #: Where to go on. Null: at the end.
    after: str | None = None


class EndpointRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint to be added."""

    name: str
    url: str
    #: `whsec_…`, or where it is: `env:NAME` or `file:/path`. Null: a new one, which the answer has.
    secret: str | None = None
    #: Only messages of these clients may name it: names, or patterns such as `acme-*`. Empty: all.
    clients: tuple[str, ...] = ()
    #: Which endings it gets.
    events: tuple[MessageState, ...] = ENDINGS
    #: A message may name any URL of these hosts, signed with its secret.
    hosts: tuple[str, ...] = ()


class EndpointEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be changed. What is null stays as it is."""

    url: str | None = None
    clients: tuple[str, ...] | None = None
    events: tuple[MessageState, ...] | None = None
    hosts: tuple[str, ...] | None = None


class Rotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new secret."""

    #: As for a new endpoint.
    secret: str | None = None
    #: The old one signs too for so long. 0: it is void at once.
    overlap_seconds: float = ROTATION_SECONDS


class DisableReason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an endpoint is disabled."""

    reason: Annotated[str, msgspec.Meta(max_length=_LONGEST_REASON)] = "disabled by an operator"


async def list_endpoints(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the endpoints."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[EndpointPage, str | None]:
        found = await ask.operate.endpoints()
        page, following = cut(found.endpoints, lambda row: row.name, after=after, limit=limit)
        return EndpointPage(endpoints=page, after=following), following

    return await reply_list(ask, "endpoints", read, after=ask.query.after)


async def add_endpoint(ask: Ask[None, EndpointRequest]) -> Reply:
    """Register a receiver."""
    given = ask.body
    made = await ask.operate.add_endpoint(
        given.name, given.url, secret=given.secret, clients=given.clients, events=given.events, hosts=given.hosts
    )
    return Reply(value=made, status=201, is_secret=True)


async def change_endpoint(ask: Ask[None, EndpointEdit]) -> Reply:
    """Change where an endpoint points, or who may name it."""
    given = ask.body
    changed = await ask.operate.change_endpoint(
        ask.path["name"], url=given.url, clients=given.clients, events=given.events, hosts=given.hosts
    )
    return Reply(value=changed)


async def rotate_endpoint(ask: Ask[None, Rotation]) -> Reply:
    """Give an endpoint a new secret."""
    made = await ask.operate.rotate_endpoint(
        ask.path["name"], secret=ask.body.secret, overlap_seconds=ask.body.overlap_seconds
    )
    return Reply(value=made, is_secret=True)


async def disable_endpoint(ask: Ask[None, DisableReason]) -> Reply:
    """Send an endpoint nothing more."""
    return Reply(value=await ask.operate.disable_endpoint(ask.path["name"], ask.body.reason))


async def enable_endpoint(ask: Ask[None, None]) -> Reply:
    """Let an endpoint's endings go out again."""
    return Reply(value=await ask.operate.enable_endpoint(ask.path["name"]))


async def remove_endpoint(ask: Ask[None, None]) -> Reply:
    """Remove an endpoint."""
    return Reply(value=await ask.operate.remove_endpoint(ask.path["name"]))


async def test_endpoint(ask: Ask[None, None]) -> Reply:
    """Post a signed test request."""
    return Reply(value=await ask.operate.test_endpoint(ask.path["name"]))


_ENDPOINT = {
    "name": "orders", "url": "https://shop.example.com/internal/notify", "clients": [], "hosts": [],
    "events": ["completed", "dead", "cancelled"], "created_at": NOW - 86_400, "created_by": "alice@host",
    "secret": "stored", "rotating_until": None, "disabled": None,
    "health": {"state": "closed", "failures": 0, "failing_since": None, "rests_until": None, "error": ""},
}  # fmt: skip
_SECRET = {"endpoint": _ENDPOINT, "secret": "whsec_" + "A" * 43 + "="}
_CHANGE = {"name": "orders", "changed": True}
_PATH = "/webhooks/endpoints"

ROUTES = (
    Route(
        method="GET", path=_PATH, scope=AccessScope.READ, handler=list_endpoints, query=PageQuery, answer=EndpointPage,
        summary="List webhook endpoints", description="Without their secrets, and how they answer.",
        example={"endpoints": [_ENDPOINT], "after": None}, rows="endpoints",
    ),
    Route(
        method="POST", path=_PATH, scope=AccessScope.ADMIN, handler=add_endpoint, body=EndpointRequest,
        answer=EndpointSecret, status=201, summary="Add a webhook endpoint",
        description="A secret that is made for it is in this answer and nowhere else.",
        body_example={"name": "orders", "url": "https://shop.example.com/internal/notify"}, example=_SECRET,
        errors=(EndpointExists, SecretUnreadable),
    ),
    Route(
        method="PUT", path=_PATH + "/{name}", scope=AccessScope.ADMIN, handler=change_endpoint, body=EndpointEdit,
        answer=EndpointStatus, summary="Change a webhook endpoint", description="What is left out stays as it is.",
        body_example={"url": "https://shop.example.com/v2/notify"}, example=_ENDPOINT, errors=(UnknownEndpoint,),
    ),
    Route(
        method="DELETE", path=_PATH + "/{name}", scope=AccessScope.ADMIN, handler=remove_endpoint,
        answer=EndpointChange, summary="Remove a webhook endpoint",
        description="Endings that ask for it become dead letters, to be replayed once it is there again.",
        example=_CHANGE, errors=(UnknownEndpoint,),
    ),
    Route(
        method="POST", path=_PATH + "/{name}/rotate", scope=AccessScope.ADMIN, handler=rotate_endpoint, body=Rotation,
        answer=EndpointSecret, summary="Give a webhook endpoint a new secret",
        description="Both secrets sign for a day, so that the receiver can follow in its time.",
        body_example={"overlap_seconds": 86400}, example=_SECRET, errors=(UnknownEndpoint, SecretUnreadable),
    ),
    Route(
        method="POST", path=_PATH + "/{name}/disable", scope=AccessScope.OPERATE, handler=disable_endpoint,
        body=DisableReason, answer=EndpointChange, summary="Disable a webhook endpoint",
        description="Endings that ask for it wait until it is enabled.",
        body_example={"reason": "moves to another host"}, example=_CHANGE, errors=(UnknownEndpoint,),
    ),
    Route(
        method="POST", path=_PATH + "/{name}/enable", scope=AccessScope.OPERATE, handler=enable_endpoint,
        answer=EndpointChange, summary="Enable a webhook endpoint", description="What waited first goes out first.",
        example=_CHANGE, errors=(UnknownEndpoint,),
    ),
    Route(
        method="POST", path=_PATH + "/{name}/test", scope=AccessScope.OPERATE, handler=test_endpoint,
        answer=EndpointTest, summary="Post a test request to a webhook endpoint",
        description="Signed, from the server; its body has the status `test`. Answers how the receiver answered.",
        example={"name": "orders", "ok": True, "status": 200, "seconds": 0.041, "text": ""},
        errors=(UnknownEndpoint, SecretUnreadable),
    ),
)  # fmt: skip
