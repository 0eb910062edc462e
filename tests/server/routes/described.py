"""Whether an answer is what the OpenAPI document says: its status, its type, every field and no other."""

import functools
from typing import Any

import httpx

from tenure.server.openapi.document import document
from tenure.server.route import Route
from tenure.server.route_table import RouteTable
from tenure.server.routes import ROUTES

TABLE = RouteTable(ROUTES)
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


@functools.cache
def described() -> dict[str, Any]:
    return document(ROUTES)


def check_answer(response: httpx.Response) -> Route:
    """Compare an answer with the document; the route that gave it."""
    path = response.request.url.raw_path.decode().partition("?")[0]
    route, _ = TABLE.find(response.request.method, path.split("/")[3:])
    operation = described()["paths"][route.path][route.method.lower()]
    status = str(response.status_code)
    assert status in operation["responses"], (route.path, response.status_code, response.text)
    kinds = operation["responses"][status].get("content", {})
    if not kinds:
        assert not response.content
        return route
    kind = response.headers["content-type"].partition(";")[0]
    assert kind in kinds, (route.path, kind)
    if kind in ("application/json", "application/problem+json"):
        check(response.json(), kinds[kind]["schema"], f"{route.method} {route.path}")
    if kind == "application/problem+json":
        code = response.json()["code"]
        assert f"`{code}`" in operation["responses"][status]["description"], (route.path, code)
    return route


def check(value: Any, schema: dict[str, Any], place: str) -> None:
    """Raise `AssertionError` where a value is not as its schema says. Objects have no other fields."""
    if "$ref" in schema:
        check(value, described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], place)
        return
    if "anyOf" in schema:
        _check_any(value, schema["anyOf"], place)
        return
    if "enum" in schema:
        assert value in schema["enum"], (place, value)
        return
    kinds = _KINDS.get(schema.get("type", ""))
    if kinds is None:
        return  # anything
    assert isinstance(value, kinds), (place, value, schema)
    assert not isinstance(value, bool) or bool in kinds, (place, value, schema)
    if isinstance(value, list):
        for number, one in enumerate(value):
            check(one, schema.get("items", {}), f"{place}[{number}]")
    if isinstance(value, dict):
        _check_object(value, schema, place)


def _check_any(value: Any, schemas: list[dict[str, Any]], place: str) -> None:
    problems = []
    for one in schemas:
        try:
            check(value, one, place)
        except AssertionError as error:
            problems.append(str(error))
        else:
            return
    raise AssertionError(problems)


def _check_object(value: dict[str, Any], schema: dict[str, Any], place: str) -> None:
    missing = set(schema.get("required", ())) - value.keys()
    assert not missing, (place, missing)
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", not schema.get("properties"))
    for name, one in value.items():
        if name in fields:
            check(one, fields[name], f"{place}.{name}")
        else:
            assert others is not False, (place, name)
            check(one, others if isinstance(others, dict) else {}, f"{place}.{name}")
