"""Growth: what a newer OpenAPI document has taken away from an older one. The API only grows. Pure.

Taken away is: a path, a method, an answer's status or type, a field of an answer or its being always there, a type or a
value that a request could have; a parameter or field of a request; and what a client must send now and need not before.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def losses(old: Json, new: Json) -> list[str]:
    """Everything that a client of the old document may miss, each as a place and what is wrong there."""
    return list(dict.fromkeys(_Comparison(old, new).run()))


class _Comparison:
    def __init__(self, old: Json, new: Json) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def run(self) -> Iterator[str]:
        for path, methods in self._old["paths"].items():
            now = self._new["paths"].get(path, {})
            for method, operation in methods.items():
                place = f"{method.upper()} {path}"
                if method not in now:
                    yield f"{place}: the route is gone"
                else:
                    yield from self._operation(place, operation, now[method])

    def _operation(self, place: str, old: Json, new: Json) -> Iterator[str]:
        yield from self._parameters(place, old, new)
        body, body_now = old.get("requestBody"), new.get("requestBody")
        if body is None:
            if body_now is not None and body_now.get("required"):
                yield f"{place}: a body is required now"
        elif body_now is None:
            yield f"{place}: the body is gone"
        else:
            yield from self._content(f"{place} body", body["content"], body_now["content"], taken=True)
        for status, answer in old["responses"].items():
            now = new["responses"].get(status)
            if now is None:
                yield f"{place} {status}: the answer is gone"
            else:
                yield from self._content(
                    f"{place} {status}", answer.get("content", {}), now.get("content", {}), taken=False
                )
        before = {scope for one in old.get("security", ()) for scopes in one.values() for scope in scopes}
        needed = {scope for one in new.get("security", ()) for scopes in one.values() for scope in scopes}
        if needed - before:
            yield f"{place}: it needs the scope {', '.join(sorted(needed))} now"

    def _parameters(self, place: str, old: Json, new: Json) -> Iterator[str]:
        before = {(one["in"], one["name"]): one for one in old.get("parameters", ())}
        now = {(one["in"], one["name"]): one for one in new.get("parameters", ())}
        for key, one in before.items():
            if key not in now:
                yield f"{place} {key[1]}: the parameter is gone"
            else:
                yield from self._schema(f"{place} {key[1]}", one["schema"], now[key]["schema"], taken=True)
        for key, one in now.items():
            if one.get("required") and not before.get(key, {}).get("required"):
                yield f"{place} {key[1]}: the parameter is required now"

    def _content(self, place: str, old: Json, new: Json, *, taken: bool) -> Iterator[str]:
        for kind, one in old.items():
            if kind not in new:
                yield f"{place}: {kind} is gone"
            else:
                yield from self._schema(place, one.get("schema", {}), new[kind].get("schema", {}), taken=taken)

    def _schema(self, place: str, old: Json, new: Json, *, taken: bool) -> Iterator[str]:
        """`taken`: whether clients send it. Else it is answered."""
        if "$ref" in old and "$ref" in new:
            key = (old["$ref"], new["$ref"], taken)
            if key in self._seen:
                return
            self._seen.add(key)
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        lost = _kinds(old) - _kinds(new) if taken else _kinds(new) - _kinds(old)
        if lost and "any" not in (_kinds(new) if taken else _kinds(old)):
            yield f"{place}: {', '.join(sorted(lost))} is {'not taken any more' if taken else 'answered now'}"
        gone = [one for one in old.get("enum", ()) if "enum" in new and one not in new["enum"]]
        if gone:
            yield f"{place}: the value {', '.join(map(repr, gone))} is gone"
        yield from self._fields(place, old, new, taken=taken)
        for name in ("items", "additionalProperties"):
            if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
                yield from self._schema(f"{place}[]", old[name], new[name], taken=taken)
        for one in old.get("anyOf", ()):
            for other in new.get("anyOf", [new]):
                if one.get("type") == other.get("type") and ("$ref" in one) == ("$ref" in other):
                    yield from self._schema(place, one, other, taken=taken)
                    break

    def _fields(self, place: str, old: Json, new: Json, *, taken: bool) -> Iterator[str]:
        fields, now = old.get("properties", {}), new.get("properties", {})
        for name, one in fields.items():
            if name not in now:
                yield f"{place}.{name}: the field is gone"
            else:
                yield from self._schema(f"{place}.{name}", one, now[name], taken=taken)
        required, required_now = set(old.get("required", ())), set(new.get("required", ()))
        for name in sorted(required_now - required if taken else (required - required_now) & now.keys()):
            yield f"{place}.{name}: the field is {'required now' if taken else 'not always there any more'}"


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _kinds(schema: Json) -> set[str]:
    """Return the kinds that a value may be: a type, a shape by its name, or anything."""
    if "$ref" in schema:
        return {"object"} | {"string"}
    if "anyOf" in schema:
        return set().union(*map(_kinds, schema["anyOf"]))
    if "enum" in schema:
        return {"string"}
    return {schema.get("type", "any")}
