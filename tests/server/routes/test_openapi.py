"""The OpenAPI document: complete, true to its examples, as it is committed, and never smaller than before."""

import copy
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.docs.openapi_page import text

import tenure as package
from tenure import Tenure
from tenure.server.openapi.growth import losses
from tenure.server.openapi.page import reference_page
from tenure.server.route import Route
from tenure.server.routes import ROUTES

from ..asking import serving  # noqa: TID252 - the helpers of the folder above
from .described import check, described

HERE = Path(package.__file__).parents[2]
FILE = HERE / "docs" / "reference" / "openapi.json"

_NAMES = [f"{route.method} {route.path}" for route in ROUTES]


def test_the_committed_document_is_the_one_of_the_routes() -> None:
    command = "python -m tests.docs.openapi_page > docs/reference/openapi.json"
    assert FILE.read_text(encoding="utf-8") == text(), command


@pytest.mark.parametrize("route", ROUTES, ids=_NAMES)
def test_every_route_is_described_with_examples_that_are_true(route: Route) -> None:
    operation = described()["paths"][route.path][route.method.lower()]
    assert operation["summary"]
    assert not operation["summary"].endswith(".")
    for one in operation.get("parameters", ()):
        named = one["name"] in ("task", "key", "client", "message", "id", "queue", "name")
        assert one.get("description") or named, one["name"]
    if route.body is not None:
        assert route.body_example is not None
        msgspec.json.decode(msgspec.json.encode(route.body_example), type=route.body)
        check(route.body_example, operation["requestBody"]["content"]["application/json"]["schema"], "body")
    if route.answer is not None:
        assert route.example is not None
        check(
            route.example, operation["responses"][str(route.status)]["content"]["application/json"]["schema"], "answer"
        )
    assert {"500", "503", "422"} <= operation["responses"].keys()
    assert bool(operation["security"]) == (route.scope is not None)


def test_every_field_of_every_shape_can_be_explained() -> None:
    """Names that say it all need no words; but a shape has some."""
    for name, schema in described()["components"]["schemas"].items():
        assert schema.get("description"), name
    ids = [one["operationId"] for methods in described()["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


# -- it only grows -------------------------------------------------------------------------------------------------


def _git(*words: str) -> str | None:
    found = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def _last() -> dict[str, Any] | None:
    """The document of the last commit on main. None: there is none, or no git."""
    here = _git("rev-parse", "HEAD")
    for commit in ("main", "origin/main", "HEAD~1", "HEAD"):
        if commit in ("main", "origin/main") and _git("rev-parse", commit) == here:
            continue
        found = _git("show", f"{commit}:docs/reference/openapi.json")
        if found:
            document: dict[str, Any] = msgspec.json.decode(found)
            return document
    return None


def test_nothing_is_gone_since_the_last_commit_on_main() -> None:
    last = _last()
    assert last is None or losses(last, described()) == []


def _without(*path: str) -> Callable[[dict[str, Any]], None]:
    def remove(document: dict[str, Any]) -> None:
        place = document
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return remove


def _schema(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: document["components"]["schemas"][name]


def _parameter(document: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in document["paths"][path]["get"]["parameters"] if one["name"] == name)
    return found


_BREAKS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a path": (_without("paths", "/queues"), "GET /queues: the route is gone"),
    "a method": (_without("paths", "/queues/{queue}", "delete"), "DELETE /queues/{queue}: the route is gone"),
    "a status": (_without("paths", "/messages/{id}/result", "get", "responses", "202"), "202: the answer is gone"),
    "a field": (_without("components", "schemas", "QueueStatus", "properties", "ready"), ".ready: the field is gone"),
    "a field's presence": (
        lambda document: _schema("QueueStatus")(document)["required"].remove("ready"), ".ready: the field is not always"
    ),
    "a field's type": (
        lambda document: _schema("QueueChange")(document)["properties"]["changed"].update(type="string"),
        ".changed: string is answered now",
    ),
    "a value": (lambda document: _schema("SendOutcome")(document)["enum"].remove("duplicate"), "'duplicate' is gone"),
    "a parameter": (
        lambda document: document["paths"]["/messages"]["get"]["parameters"].remove(
            _parameter(document, "/messages", "text")
        ),
        "text: the parameter is gone",
    ),
    "a parameter's freedom": (
        lambda document: _parameter(document, "/messages", "text").update(required=True), "text: the parameter is re"
    ),
    "a body's field": (_without("components", "schemas", "NewMessage", "properties", "key"), ".key: the field is gone"),
    "a body's freedom": (
        lambda document: _schema("NewMessage")(document)["required"].append("priority"), ".priority: the field is re"
    ),
    "a body's type": (
        lambda document: _schema("NewMessage")(document)["properties"].update(priority={"type": "null"}),
        ".priority: integer is not taken",
    ),
    "a scope": (
        lambda document: document["paths"]["/queues"]["get"].update(security=[{"bearer": ["admin"]}]),
        "GET /queues: it needs the scope admin",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", _BREAKS)
def test_the_comparison_sees_what_is_taken_away(what: str) -> None:
    take, expected = _BREAKS[what]
    newer = copy.deepcopy(described())
    take(newer)
    found = losses(described(), newer)
    assert any(expected in one for one in found), found
    assert losses(described(), described()) == []


def test_what_is_added_takes_nothing_away() -> None:
    newer = copy.deepcopy(described())
    newer["paths"]["/new"] = newer["paths"]["/queues"]
    status = _schema("QueueStatus")(newer)
    status["properties"]["new"] = {"type": "string"}
    status["required"].append("new")
    _schema("NewMessage")(newer)["properties"]["new"] = {"type": "string"}
    newer["paths"]["/messages"]["get"]["parameters"].append(
        {"name": "new", "in": "query", "schema": {"type": "string"}}
    )
    assert losses(described(), newer) == []
    assert losses(newer, described()) != []


# -- over HTTP -----------------------------------------------------------------------------------------------------


async def test_document_and_page_are_served_without_a_token_and_know_where_they_are() -> None:
    async with serving(Tenure("memory://"), base_path="/tenure") as (served, client):
        await served.server.tokens.create("somebody", ["read"], ["*"])  # type: ignore[list-item]
        found = await client.get("/tenure/api/v1/openapi.json")
        assert found.json()["servers"] == [{"url": "/tenure/api/v1"}]
        again = await client.get("/tenure/api/v1/openapi.json", headers={"If-None-Match": found.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        page = await client.get("/tenure/api/v1/docs")
        assert page.headers["content-type"].startswith("text/html")
        _check_page(page)


def _check_page(page: httpx.Response) -> None:
    policy, text = page.headers["content-security-policy"], page.text
    assert "unsafe-inline" not in policy
    assert "style-src 'sha256-" in policy
    assert "<script" not in text
    assert " style=" not in text
    assert re.findall(r"(?:href|src|action)=[\"']?https?://", text) == []
    for route in ROUTES:
        assert route.summary in text.replace("&#x27;", "'")


def test_the_page_escapes_what_it_shows() -> None:
    evil = copy.deepcopy(described())
    evil["paths"]["/queues"]["get"]["summary"] = "<script>alert(1)</script>"
    assert "<script" not in reference_page(evil)
