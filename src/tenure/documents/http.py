"""Search over HTTP: an ASGI application to serve alone, or to mount in one of your own.

    GET /search?question=…&set=…&limit=5&mode=hybrid     {"hits": [{…}]}
    GET /documents?set=…                                 {"documents": [{…}]}
    GET /summary?name=…&set=…                            {"summary": "…"}

With a token, requests need `Authorization: Bearer …`. Errors are problem documents (RFC 9457) with the stable code.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tenure import TenureError
from tenure.documents.errors import DocumentMissing, EndpointError, IndexUnavailable
from tenure.documents.library import Library
from tenure.documents.search import Mode
from tenure.errors import BadArgument, ConfigurationError

Verb = Callable[[Library, Request], Awaitable[dict[str, Any]]]

_BAD, _UNAUTHORIZED, _MISSING, _AWAY, _TROUBLE = 400, 401, 404, 503, 500


def asgi(library: Library, *, token: str = "") -> Starlette:
    """The application. `token`: what requests must carry; empty: nothing."""

    def route(path: str, verb: Verb) -> Route:
        async def answer(request: Request) -> Response:
            if token and not _has_token(request, token):
                return _problem(_UNAUTHORIZED, "unauthorized", "the request needs the token as Authorization: Bearer …")
            try:
                return _json(200, await verb(library, request))
            except (BadArgument, ValueError) as error:
                return _problem(_BAD, getattr(error, "code", "bad_argument"), str(error))
            except DocumentMissing as error:
                return _problem(_MISSING, error.code, error.reason)
            except (EndpointError, IndexUnavailable) as error:
                return _problem(_AWAY, error.code, str(error))
            except (ConfigurationError, TenureError) as error:
                return _problem(_TROUBLE, error.code, str(error))

        return Route(path, answer, methods=["GET"])

    return Starlette(routes=[route("/search", _search), route("/documents", _documents), route("/summary", _summary)])


async def _search(library: Library, request: Request) -> dict[str, Any]:
    asked = request.query_params
    limit = asked.get("limit", "5")
    if not limit.isdecimal():
        raise BadArgument(f"limit must be a number from 1 to 100, not {limit!r}")
    mode = asked.get("mode", Mode.HYBRID)
    if mode not in set(Mode):
        raise BadArgument(f"mode must be one of {', '.join(Mode)}, not {mode!r}")
    hits = await library.search(
        asked.get("question", ""), document_set=asked.get("set", "default"), limit=int(limit), mode=mode
    )
    return {"hits": hits}


async def _documents(library: Library, request: Request) -> dict[str, Any]:
    return {"documents": await library.documents(request.query_params.get("set"))}


async def _summary(library: Library, request: Request) -> dict[str, Any]:
    asked = request.query_params
    name, of = asked.get("name", ""), asked.get("set", "default")
    summary = await library.summary(name, document_set=of)
    if summary is None:
        raise DocumentMissing(f"no summary was made of {name!r} in the set {of!r}")
    return {"summary": summary}


def _has_token(request: Request, token: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def _json(status: int, value: Any, kind: str = "application/json") -> Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return Response(msgspec.json.encode(value), status, headers, media_type=kind)


def _problem(status: int, code: str, detail: str) -> Response:
    return _json(status, {"status": status, "code": code, "detail": detail}, "application/problem+json")
