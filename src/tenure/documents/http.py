"""Search over HTTP: an ASGI application to serve alone, or to mount in one of your own.

    GET /search?question=…&set=…&limit=5&mode=hybrid     {"hits": [{…}]}
    GET /documents?set=…                                 {"documents": [{…}]}
    GET /summary?name=…&set=…                            {"summary": "…"}

With a token, requests need `Authorization: Bearer …`. Without one, name the hosts under which it is asked: a page in a
browser could otherwise have its own name resolve to this machine and read the documents. Errors are problem documents
(RFC 9457) with the stable code.
"""

import hmac
from collections.abc import Awaitable, Callable, Collection
from typing import Any
from urllib.parse import urlsplit

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

_BAD, _UNAUTHORIZED, _MISSING, _MISDIRECTED, _AWAY, _TROUBLE = 400, 401, 404, 421, 503, 500


def asgi(library: Library, *, token: str = "", hosts: Collection[str] = ()) -> Starlette:
    """The application. `token`: what requests must carry. `hosts`: the names it answers to. Empty: anything goes."""

    def route(path: str, verb: Verb) -> Route:
        async def answer(request: Request) -> Response:
            refusal = _refusal(request, token, hosts)
            if refusal is not None:
                return refusal
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


def _refusal(request: Request, token: str, hosts: Collection[str]) -> Response | None:
    if token and not _has_token(request, token):
        return _problem(_UNAUTHORIZED, "unauthorized", "the request needs the token as Authorization: Bearer …")
    if hosts and not _is_for(request, hosts):
        return _problem(_MISDIRECTED, "host_refused", "the request is for another host than this one")
    return None


def _is_for(request: Request, hosts: Collection[str]) -> bool:
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname in hosts
    except ValueError:  # it is no host at all
        return False


def _json(status: int, value: Any, kind: str = "application/json") -> Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return Response(msgspec.json.encode(value), status, headers, media_type=kind)


def _problem(status: int, code: str, detail: str) -> Response:
    return _json(status, {"status": status, "code": code, "detail": detail}, "application/problem+json")
