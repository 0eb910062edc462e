"""Dispatch: runs the route of a request. The one place that decides what a principal may do.

    find the route → who asks → may they → decode → handle → encode

Before: `guard/`. After: the handlers in `routes/`.
"""

from collections.abc import Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.server.authentication import source_of
from tenure.server.decode import decode_body, decode_query
from tenure.server.encode import encode_reply
from tenure.server.errors import ForbiddenScope, ReadOnly, TooManyAttempts, Unauthenticated
from tenure.server.guard.request_log import note_of
from tenure.server.guard.request_path import segments_of
from tenure.server.principal import NOBODY, Principal
from tenure.server.route import Ask, Route
from tenure.server.route_table import RouteTable
from tenure.server.server import Server
from tenure.server.watch_links import principal_of, token_in

#: The segments before every path of the table.
PREFIX = ("api", "v1")


class Dispatch:
    """The routes of one server."""

    def __init__(self, table: RouteTable, server: Server) -> None:
        """Run routes of `table` for those who have access."""
        self._table = table
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request below `/api/v1`."""
        route, path = self._table.find(scope["method"], segments_of(scope)[len(PREFIX) :])
        request = Request(scope, receive)
        note_of(scope).route = route.path  # also of what is refused
        token = token_in(scope) if route.is_linked else None
        grant = None if token is None else await self._server.watch_links.grant(token, path["id"])
        principal = await self._principal(route, request) if grant is None else principal_of(grant)
        note = note_of(scope)
        note.principal = principal.name
        self._check(route, principal, path)
        query = decode_query(scope.get("query_string", b""), route.query)
        try:
            body = decode_body(await request.body(), route.body)
        except ClientDisconnect:
            return
        note.waits = bool(getattr(query, "wait", None) or getattr(body, "wait", None))
        ask = Ask(
            principal=principal,
            operate=self._server.operate_for(principal, source_of(request)),
            server=self._server,
            path=path,
            query=query,
            body=body,
            request=request,
            grant=grant,
        )
        answer = await route.handler(ask)
        if isinstance(answer, Response):
            response = answer
        else:
            response = await encode_reply(answer, request, route, self._server.redaction)
        await response(scope, receive, send)

    async def _principal(self, route: Route, request: Request) -> Principal:
        if route.scope is not None:
            return await self._server.authentication.identify(request)
        try:
            return await self._server.authentication.identify(request)
        except (Unauthenticated, TooManyAttempts):
            return NOBODY

    def _check(self, route: Route, principal: Principal, path: Mapping[str, str]) -> None:
        needed = route.scope_for(path)
        if needed is not None and not principal.may(needed):
            msg = f"this needs the scope {needed.value!r}, which {principal.name} does not have"
            raise ForbiddenScope(msg)
        if route.is_act and self._server.options.refuses_acts and route.scope is not None:
            msg = "this server is read-only (--read-only or --view); nothing was changed"
            raise ReadOnly(msg)
