"""A route: one row of the table that drives routing, decoding, scopes, OpenAPI and the reference page.

    async def list_tokens(ask: Ask[None, None]) -> Reply: ...

    Route(method="GET", path="/tokens", scope=AccessScope.ADMIN, handler=list_tokens, answer=TokenList, summary="…")

Routes are collected in `routes/__init__.py`, found by `route_table.py` and run by `dispatch.py`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tenure.app import Tenure
from tenure.client.operations.operate import Operate
from tenure.client.watch_link import WatchGrant
from tenure.errors import TenureError
from tenure.rules.client_queue import client_of_queue
from tenure.server.principal import AccessScope, Principal

if TYPE_CHECKING:
    from tenure.server.server import Server

Q = TypeVar("Q")
B = TypeVar("B")


class Ask(Generic[Q, B]):
    """One decoded request, as a handler gets it."""

    __slots__ = ("app", "body", "grant", "operate", "path", "principal", "query", "request", "server")

    def __init__(
        self,
        *,
        principal: Principal,
        operate: Operate,
        server: "Server",
        path: Mapping[str, str],
        query: Q,
        body: B,
        request: Request,
        grant: WatchGrant | None = None,
    ) -> None:
        """Take the parts that `dispatch.py` decoded."""
        #: Who asks.
        self.principal = principal
        #: Looks and acts in the name of the principal, on the queues that exist for it.
        self.operate = operate
        #: What all requests of this process share.
        self.server = server
        self.app: Tenure = server.app
        #: The parameters of the path, decoded: a queue's name may contain slashes.
        self.path = path
        self.query = query
        self.body = body
        self.request = request
        #: What a watch link opens, if the request has one.
        self.grant = grant


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a handler. A stream is a Starlette response instead."""

    #: Encoded as JSON and redacted; bytes are both already. None: no body.
    value: Any = None
    status: int = 200
    headers: Mapping[str, str] = {}
    #: Whether the value has a secret in it, such as a new token: then it is not compressed.
    is_secret: bool = False


Handler = Callable[[Ask[Any, Any]], Awaitable[Reply | Response]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    #: GET, POST, PUT or DELETE. What GET answers is answered to HEAD too, without its body.
    method: str
    #: Below `/api/v1`, with parameters in braces: `/queues/{queue}/pause`.
    path: str
    #: None: anybody may ask. Only for the session's routes.
    scope: AccessScope | None
    handler: Handler
    #: Instead of `scope`, where the path's `queue` is a client's: what its quota is made of.
    client_scope: AccessScope | None = None
    #: Decoded from the query string: each field is a parameter; one that is a list may be repeated.
    query: type[msgspec.Struct] | None = None
    #: Decoded from the body's JSON.
    body: Any = None
    #: What `Reply.value` is, for OpenAPI. None: there is no body (204), or it is a stream.
    answer: Any = None
    status: int = 200
    #: A sentence in the imperative, without a full stop.
    summary: str
    description: str = ""
    #: An answer, as JSON values. Decoded as `answer` in a test.
    example: Any = None
    #: A body, as JSON values. Decoded as `body` in a test.
    body_example: Any = None
    #: What it may refuse, besides what every route may.
    errors: tuple[type[TenureError], ...] = ()
    #: Whether it changes something. None: as its method says. A POST that only looks says False.
    acts: bool | None = None
    #: Whether its answer has an `ETag` by its content, so that a client that has it already is answered 304.
    is_tagged: bool = False
    #: The field of its answer that has the rows of a list: with `Accept: application/x-ndjson` they are exported.
    rows: str = ""
    #: Headers of the request that mean something here, with what they mean.
    headers: Mapping[str, str] = {}
    #: Statuses of answers that are neither `status` nor a problem, with what they mean.
    also: Mapping[int, str] = {}
    #: Whether a watch link opens it, for the message that its path names.
    is_linked: bool = False
    #: The media type of its answer.
    media_type: str = "application/json"

    def scope_for(self, path: Mapping[str, str]) -> AccessScope | None:
        """The scope that a request needs, by the parameters of its path."""
        if self.client_scope is not None and client_of_queue(path["queue"]) is not None:
            return self.client_scope
        return self.scope

    @property
    def is_act(self) -> bool:
        """Whether a server that is read-only refuses it."""
        return self.method not in ("GET", "HEAD") if self.acts is None else self.acts
