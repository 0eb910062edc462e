"""The OpenAPI 3.1 document of a table of routes. Pure: the same table, the same document."""

from collections.abc import Sequence
from typing import Any

from tenure.server.export import MEDIA_TYPE as NDJSON
from tenure.server.openapi.problems import problem_responses
from tenure.server.openapi.schemas import Schemas, parameters_of
from tenure.server.principal import AccessScope
from tenure.server.problem import Problem
from tenure.server.route import Route

#: The version of the API, not of Tenure: it only grows.
VERSION = "1"
_DESCRIPTION = """\
Everything that can be seen and done in a Tenure store, for programs in any language.

Times named `_at`, `at` and `now` are Unix seconds, all others are spans in seconds. `null` means that it cannot be
known, 0 that there are none. Every error is a problem document (RFC 9457) with a stable `code`. New fields, parameters
and routes may come; nothing that is there goes away, so ignore fields that you do not know.

Lists come in pages: go on with `after` of the page before. With `Accept: application/x-ndjson` a list is answered
whole, one JSON document a line; the last line, `{"export": {"rows": 1200, "cut": false, "detail": ""}}`, says whether
all is there. What changes something needs `Content-Type: application/json`, also without a body. A queue or message
that an access token may not see does not exist for it."""
_SCOPES = {
    AccessScope.SEND: "send messages",
    AccessScope.READ: "see queues, messages, workers and events, without payloads",
    AccessScope.PAYLOAD: "see payloads, results, headers and what errors said",
    AccessScope.CONSUME: "lease messages and settle them",
    AccessScope.OPERATE: "pause, resume, cancel, redrive, edit, move, delete, purge",
    AccessScope.ADMIN: "make and revoke access tokens, see settings, set quotas, weights and limits of clients",
}
_ETAG = {"description": "Send it as `If-None-Match`: 304 where nothing changed.", "schema": {"type": "string"}}


def document(routes: Sequence[Route], prefix: str = "") -> dict[str, Any]:
    """The document. `prefix`: where the application is mounted."""
    schemas = Schemas(
        [route.body for route in routes if route.body is not None],
        [*(route.answer for route in routes if route.answer is not None), Problem],
    )
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tenure", "version": VERSION, "description": _DESCRIPTION},
        "servers": [{"url": f"{prefix}/api/v1"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(map(tag_of, routes))],
        "paths": paths,
        "components": {"schemas": dict(schemas.components), "securitySchemes": _security_schemes()},
    }


def tag_of(route: Route) -> str:
    """The noun under which a route stands."""
    return route.path.strip("/").split("/")[0].partition(".")[0]


def _operation(route: Route, schemas: Schemas) -> dict[str, Any]:
    words = [part.strip("{}").replace(".", "_") for part in route.path.strip("/").split("/")]
    found: dict[str, Any] = {
        "operationId": "_".join([route.method.lower(), *words]),
        "tags": [tag_of(route)],
        "summary": route.summary,
    }
    if route.description:
        found["description"] = route.description
    if parameters := _parameters(route):
        found["parameters"] = parameters
    if route.body is not None:
        content: dict[str, Any] = {"schema": schemas.of(route.body)}
        if route.body_example is not None:
            content["example"] = route.body_example
        found["requestBody"] = {"required": _needs_body(route, schemas), "content": {"application/json": content}}
    found["responses"] = {**_answers(route, schemas), **problem_responses(route)}
    names = () if route.scope is None else ("bearer", "cookie")
    found["security"] = [{name: [route.scope.value]} for name in names if route.scope is not None]
    return found


def _parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    text = {"type": "string", "minLength": 1}
    found: list[dict[str, Any]] = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    for name, schema, meaning in parameters_of(route.query) if route.query is not None else ():
        one: dict[str, Any] = {"name": name, "in": "query", "required": False, "schema": schema}
        found.append({**one, "description": meaning} if meaning else one)
    for name, meaning in route.headers.items():
        found.append(
            {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": meaning}
        )
    return found


def _needs_body(route: Route, schemas: Schemas) -> bool:
    """Whether a field has no default."""
    name = schemas.of(route.body)["$ref"].rpartition("/")[2]
    return bool(schemas.components[name].get("required"))


def _answers(route: Route, schemas: Schemas) -> dict[str, Any]:
    content = _content(route, schemas)
    found: dict[str, Any] = {}
    for status, meaning in {route.status: "Done." if route.is_act else "Found.", **route.also}.items():
        found[str(status)] = {"description": meaning, **({"content": content} if content else {})}
    if route.is_tagged:
        found[str(route.status)]["headers"] = {"ETag": _ETAG}
        found["304"] = {"description": "Nothing changed since the `ETag` that was sent as `If-None-Match`."}
    if route.status == _CREATED and route.method == "POST" and "{" in route.path:
        found[str(route.status)]["headers"] = {
            "Location": {"description": "The message.", "schema": {"type": "string"}}
        }
    return found


_CREATED = 201


def _content(route: Route, schemas: Schemas) -> dict[str, Any]:
    if route.answer is None:
        is_text = route.status != _NO_CONTENT
        return (
            {route.media_type: {"schema": {"type": "string" if "json" not in route.media_type else "object"}}}
            if is_text
            else {}
        )
    one: dict[str, Any] = {"schema": schemas.of(route.answer)}
    if route.example is not None:
        one["example"] = route.example
    found = {route.media_type: one}
    if route.rows:
        # A schema cannot say "one document a line".
        found[NDJSON] = {"schema": {"type": "string"}}
    return found


_NO_CONTENT = 204


def _security_schemes() -> dict[str, Any]:
    scopes = "; ".join(f"`{scope.value}`: {meaning}" for scope, meaning in _SCOPES.items())
    return {
        "bearer": {
            "type": "http", "scheme": "bearer",
            "description": f"An access token: `tenure token create`. Its scopes are {scopes}. None includes another.",
        },
        "cookie": {
            "type": "apiKey", "in": "cookie", "name": "tenure_session",
            "description": "A browser's session: `POST /session`. The server's port follows the name, as in "
            "`tenure_session_8383`.",
        },
    }  # fmt: skip
