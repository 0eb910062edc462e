"""The reference of the HTTP API, made from the OpenAPI document.

    python -m tests.docs.http_page > docs/reference/http.md

`test_http_page.py` fails while the page is not what this prints.
"""

import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from tenure.server.openapi.document import document
from tenure.server.openapi.problems import problems_of
from tenure.server.problem import status_of
from tenure.server.route import Route
from tenure.server.routes import ROUTES

_HEAD = """\
# HTTP API

Every route of [`tenure serve`](../how-to/serve.md), below `/api/v1`, with the scope that it needs. A server shows the
same with examples at `/api/v1/docs`, and for programs at `/api/v1/openapi.json` ([the one of this
version](openapi.json)). It only grows: what is there stays, fields and routes may be added. How to use it: [call
Tenure from any language](../how-to/call-from-any-language.md).

- Times named `_at`, `at` and `now` are Unix seconds, all others are spans in seconds. `null` means that it cannot be
  known, 0 that there are none. Where a request takes a moment, it is Unix seconds or RFC 3339 with its offset.
- A name in a path is percent-encoded: queue `shop/orders` is `/queues/shop%2Forders`.
- What changes something needs `Content-Type: application/json`, also without a body.
- Lists come in pages of `limit` rows: go on with `after` of the page before (`before` in the audit log). With
  `Accept: application/x-ndjson` a list is a stream from there on, one JSON document a line, at most 1,000,000 of
  them; `limit` is then how many are read at a time. The last line, `{"export": {"rows": 1200, "cut": false, "detail":
  ""}}`, says whether all is there.
- Answers with an `ETag` are 304 for a client that sends it back as `If-None-Match`.
- One request of an act on many messages changes 1,000 of them at most, and says `more`: the same request goes on. A
  request that names nothing is refused; every message is meant by `"all": true` only.
- An `Idempotency-Key` makes the ids of messages, `KEY:0` and so on: a repeat stores nothing twice. The key is
  compared in the whole store, so put who you are into it.
- Bodies, results, headers and the texts of errors need the scope `payload`; without it they are `null` or empty, and
  `redacted` is true. A queue that an access token may not see does not exist for it.

## Problems

Every error is `application/problem+json` (RFC 9457):
"""
_EVERYWHERE = "Besides what a route names, each may answer with these:"


def page() -> str:
    return "\n".join(_page(document(ROUTES))) + "\n"


def _page(described: dict[str, Any]) -> Iterator[str]:
    shapes = described["components"]["schemas"]
    yield _HEAD
    yield from _table(shapes["Problem"])
    yield ""
    yield _EVERYWHERE
    yield ""
    yield from ("| status | codes |", "|---|---|")
    common = [error for error in problems_of(ROUTES[0]) if all(error in problems_of(route) for route in ROUTES)]
    guarded = {error for route in ROUTES for error in problems_of(route) if error not in route.errors}
    by_status: dict[int, set[str]] = {500: {"internal"}}
    for error in {*common, *guarded}:
        by_status.setdefault(status_of(error), set()).add(error.code)
    for status in sorted(by_status):
        yield f"| {status} | {', '.join(f'[`{code}`](errors.md)' for code in sorted(by_status[status]))} |"
    yield ""
    yield "## Routes"
    yield ""
    yield from ("| route | scope | |", "|---|---|---|")
    for route in ROUTES:
        yield f"| {_link(route)} | {_scope(route)} | {route.summary.lower()[0] + route.summary[1:]} |"
    for route in ROUTES:
        yield from _route(route, described)
    yield ""
    yield "## Shapes"
    for name, shape in shapes.items():
        if name != "Problem":
            yield f"\n### {name}\n"
            yield shape["description"]
            yield ""
            if "enum" in shape:
                yield " ".join(f"`{one}`" for one in shape["enum"])
            else:
                yield from _table(shape)


def _route(route: Route, described: dict[str, Any]) -> Iterator[str]:
    operation = described["paths"][route.path][route.method.lower()]
    yield f"\n### {route.method} {route.path}\n"
    yield f"{route.summary}. Scope: {_scope(route)}."
    if route.description:
        yield f"\n{route.description}"
    if route.rows:
        yield f"\nAs lines: each of `{route.rows}`."
    given = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    if given:
        yield ""
        yield from ("| parameter | type | what it is |", "|---|---|---|")
        for one in given:
            yield f"| `{one['name']}` | {_type(one['schema'])} | {one.get('description', '')} |"
    answers = []
    if route.body is not None:
        answers.append(f"Body: {_type(operation['requestBody']['content']['application/json']['schema'])}.")
    for status, answer in operation["responses"].items():
        kinds = answer.get("content", {})
        if status.startswith(("2", "3")):
            what = _type(kinds["application/json"]["schema"]) if "application/json" in kinds else _media(kinds)
            meaning = "" if answer["description"] in ("Done.", "Found.") else f" ({answer['description'].rstrip('.')})"
            answers.append(f"{status}: {what}{meaning}." if what else f"{status}{meaning}.")
    yield "\n" + " ".join(answers)
    if route.errors:
        told = sorted({(status_of(error), error.code) for error in route.errors})
        yield "\nProblems: " + ", ".join(f"{status} `{code}`" for status, code in told) + "."


def _media(kinds: dict[str, Any]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


def _link(route: Route) -> str:
    anchor = "".join(c for c in f"{route.method} {route.path}".lower() if c.isalnum() or c in " -_").replace(" ", "-")
    return f"[{route.method} {route.path}](#{anchor})"


def _scope(route: Route) -> str:
    return "none" if route.scope is None else f"`{route.scope.value}`"


def _table(shape: dict[str, Any]) -> Iterator[str]:
    yield from ("| field | type | what it is |", "|---|---|---|")
    required = shape.get("required", ())
    for name, schema in shape["properties"].items():
        optional = "" if name in required else "optional; "
        yield f"| `{name}` | {_type(schema)} | {(optional + schema.get('description', '')).rstrip('; ')} |"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    kind: str = schema.get("type", "any")
    if kind == "array":
        kind = f"list of {_type(schema.get('items', {}))}"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"object of {_type(schema['additionalProperties'])}"
    bounds = f", {schema['minimum']} to {schema['maximum']}" if {"minimum", "maximum"} <= schema.keys() else ""
    default = schema.get("default")
    told = "" if default in (None, "", [], {}) else f", default {msgspec.json.encode(default).decode()}"
    return f"{kind}{bounds}{told}"


if __name__ == "__main__":
    sys.stdout.write(page())
