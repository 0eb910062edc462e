"""The reference page: the OpenAPI document as one HTML file, without scripts and without anything from elsewhere.

Everything is open, so that the browser's own find finds it. The one style sheet is allowed by its hash: the policy of
the server allows no style inside a page. Pure.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import msgspec

from tenure.server.guard.headers import CONTENT_SECURITY_POLICY as SERVER_POLICY
from tenure.server.openapi.style import STYLE

_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = SERVER_POLICY.replace("style-src 'self'", f"style-src 'sha256-{_DIGEST}'")

Json = Mapping[str, Any]


def reference_page(document: Json) -> str:
    """The page of a document."""
    return "".join(_page(document))


def _page(document: Json) -> Iterator[str]:
    info, by_tag = document["info"], _by_tag(document)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
    yield f'content="light dark"><title>Tenure HTTP API</title><style>{STYLE}</style></head><body>'
    yield '<nav aria-label="Contents"><a class="brand" href="#top">Tenure <span>HTTP API</span></a>'
    for tag, operations in by_tag.items():
        yield f'<section><h2><a href="#tag-{tag}">{escape(tag)}</a></h2><ul>'
        for method, path, operation in operations:
            yield f'<li><a href="#{operation["operationId"]}" title="{escape(operation["summary"])}">'
            yield f"{_method(method)}<span>{_path(path)}</span></a></li>"
        yield "</ul></section>"
    yield '<section><h2><a href="#shapes">Shapes</a></h2></section></nav><main id="top"><header><h1>HTTP API</h1>'
    yield from (f"<p>{_prose(part)}</p>" for part in info["description"].split("\n\n"))
    yield f"<p>Address: <code>{escape(document['servers'][0]['url'])}</code> · version {escape(info['version'])} · "
    yield '<a href="openapi.json">openapi.json</a></p></header>'
    yield from _access(document)
    for tag, operations in by_tag.items():
        yield f'<section class="noun" id="tag-{tag}"><h2>{escape(tag)}</h2>'
        for method, path, operation in operations:
            yield from _operation(method, path, operation)
        yield "</section>"
    yield '<section class="noun" id="shapes"><h2>Shapes</h2>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from _shape(name, schema)
    yield "</section></main></body></html>"


def _by_tag(document: Json) -> dict[str, list[tuple[str, str, Json]]]:
    found: dict[str, list[tuple[str, str, Json]]] = {one["name"]: [] for one in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append((method.upper(), path, operation))
    return found


def _access(document: Json) -> Iterator[str]:
    yield '<section class="noun" id="access"><h2>access</h2>'
    for name, scheme in document["components"]["securitySchemes"].items():
        yield f"<p><strong>{escape(name)}</strong> {_prose(scheme['description'])}</p>"
    yield "</section>"


def _operation(method: str, path: str, operation: Json) -> Iterator[str]:
    id = operation["operationId"]
    name = f"{_method(method)}<code>{_path(path)}</code>"
    yield f'<article id="{id}"><h3><a href="#{id}">{name}</a>{_scope(operation)}</h3>'
    yield f'<p class="summary">{escape(operation["summary"])}.</p>'
    if "description" in operation:
        yield f"<p>{_prose(operation['description'])}</p>"
    if operation.get("parameters"):
        yield "<h4>Parameters</h4>" + _table(
            (one["name"], _type(one["schema"]), one["in"], one.get("description", ""))
            for one in operation["parameters"]
        )
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        yield f"<h4>Body</h4><p>{_type(content['schema'])}</p>{_example(content)}"
    yield "<h4>Answers</h4>"
    problems: list[str] = []
    for status, answer in operation["responses"].items():
        kinds = answer.get("content", {})
        if "application/problem+json" in kinds:
            problems.append(f"<li><code>{status}</code> {_prose(answer['description'])}</li>")
            continue
        types = " or ".join(
            _type(one["schema"]) if kind == "application/json" else f"<code>{escape(kind)}</code>"
            for kind, one in kinds.items()
        )
        yield f'<p><code class="ok">{status}</code> {_prose(answer["description"])} {types}</p>'
        yield from (_example(one) for one in kinds.values())
    yield f"<details><summary>Problems</summary><ul>{''.join(problems)}</ul></details></article>"


def _scope(operation: Json) -> str:
    security = operation.get("security")
    if not security:
        return '<span class="scope">no scope</span>'
    return f'<span class="scope">{escape(next(iter(security[0].values()))[0])}</span>'


def _shape(name: str, schema: Json) -> Iterator[str]:
    yield f'<article id="shape-{escape(name)}"><h3><a href="#shape-{escape(name)}"><code>{escape(name)}</code></a></h3>'
    if "description" in schema:
        yield f"<p>{_prose(schema['description'])}</p>"
    if "enum" in schema:
        yield f"<p>{_type(schema)}</p>"
    required = schema.get("required", ())
    if "properties" in schema:
        yield _table(
            (field, _type(one), "" if field in required else "optional", one.get("description", ""))
            for field, one in schema["properties"].items()
        )
    yield "</article>"


def _table(rows: Iterator[tuple[str, str, str, str]]) -> str:
    body = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{kind}</td><td>{escape(where)}</td><td>{_prose(meaning)}</td></tr>"
        for name, kind, where, meaning in rows
    )
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


def _example(content: Json) -> str:
    if "example" not in content:
        return ""
    text = msgspec.json.format(msgspec.json.encode(content["example"]), indent=2).decode()
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _type(schema: Json) -> str:
    """A schema in a few words, with links to shapes."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a class="shape" href="#shape-{name}">{name}</a>'
    if "enum" in schema:
        return " · ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    bounds = [
        f"{schema[low]} to {schema[high]}"
        for low, high in (("minimum", "maximum"),)
        if low in schema and high in schema
    ]
    more = (
        [f"default {msgspec.json.encode(schema['default']).decode()}"]
        if schema.get("default") not in (None, "")
        else []
    )
    return escape(", ".join([kind, *bounds, *more]))


def _method(method: str) -> str:
    return f'<b class="method {method.lower()}">{method}</b>'


def _path(path: str) -> str:
    """Long paths may break behind a slash."""
    return escape(path).replace("/", "/<wbr>")


def _prose(text: str) -> str:
    """Plain text with `code` in it."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
