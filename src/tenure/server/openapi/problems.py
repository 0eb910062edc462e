"""The problems that each route may answer: those of the table, those of the guard, and those of every store."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from tenure.errors import BadArgument, BrokerUnavailable, TenureError
from tenure.server.errors import (
    AmbiguousLength,
    CrossOrigin,
    ForbiddenScope,
    HostRefused,
    NotJSON,
    ProxyRefused,
    ReadOnly,
    RequestInvalid,
    RequestTooLarge,
    RequestTooSlow,
    RouteNotFound,
    ServerBusy,
    TooManyAttempts,
    TooManyStreams,
    Unauthenticated,
)
from tenure.server.openapi.schemas import REF_TEMPLATE
from tenure.server.problem import MEDIA_TYPE, Problem, status_of
from tenure.server.route import Route

_EVERY = (
    ProxyRefused, CrossOrigin, HostRefused, RequestInvalid, BadArgument, AmbiguousLength, RequestTooLarge,
    RequestTooSlow, ServerBusy, BrokerUnavailable,
)  # fmt: skip
_INTERNAL = "internal"


def problems_of(route: Route) -> list[type[TenureError]]:
    """The errors that a route may be answered with."""
    found: list[type[TenureError]] = [*route.errors, *_EVERY]
    if route.scope is not None:
        found += [Unauthenticated, ForbiddenScope, TooManyAttempts]
        found += [ReadOnly] if route.is_act else []
    found += [NotJSON] if route.method not in ("GET", "HEAD") else []
    found += [RouteNotFound] if "{" in route.path else []
    found += [TooManyStreams] if route.rows else []
    return list(dict.fromkeys(found))


def problem_responses(route: Route) -> dict[str, Any]:
    """Return the problem documents by status."""
    codes: dict[int, list[str]] = {HTTPStatus.INTERNAL_SERVER_ERROR: [_INTERNAL]}
    for error in problems_of(route):
        codes.setdefault(status_of(error), []).append(error.code)
    return {str(status): _response(status, sorted(set(codes[status]))) for status in sorted(codes)}


def _response(status: int, codes: Sequence[str]) -> dict[str, Any]:
    told = ", ".join(f"`{code}`" for code in codes)
    schema = {"$ref": REF_TEMPLATE.format(name=Problem.__name__)}
    return {"description": f"{HTTPStatus(status).phrase}: {told}", "content": {MEDIA_TYPE: {"schema": schema}}}
