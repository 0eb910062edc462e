"""JSON Schemas of the structs that routes take and answer, each with what its fields mean."""

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import msgspec.inspect

from tenure.server.openapi.field_comments import field_comments

REF_TEMPLATE = "#/components/schemas/{name}"
_REF_PREFIX = REF_TEMPLATE.format(name="")

Schema = dict[str, Any]


class Schemas:
    """The schemas of one document."""

    def __init__(self, taken: Iterable[Any], answered: Iterable[Any]) -> None:
        """`taken`: types of bodies. `answered`: types of answers."""
        self._taken, self._answered = tuple(dict.fromkeys(taken)), tuple(dict.fromkeys(answered))
        kinds = (*self._taken, *self._answered)
        refs, components = msgspec.json.schema_components(kinds, ref_template=REF_TEMPLATE)
        self._refs = dict(zip(kinds, map(_plain, refs), strict=True))
        in_bodies = {_name(kind) for kind in _named(self._taken)}
        self._components = {
            name: self._described(schema, by_name.get(name), only_answered=name not in in_bodies)
            for by_name in [{_name(kind): kind for kind in _named(kinds)}]
            for name, schema in sorted(components.items())
        }

    @property
    def components(self) -> Mapping[str, Schema]:
        """The named schemas."""
        return self._components

    def of(self, kind: Any) -> Schema:
        """The schema of a body or an answer."""
        schema: Schema = self._refs[kind]
        return schema

    def _described(self, schema: Any, kind: type[Any] | None, *, only_answered: bool) -> Schema:
        plain = _plain(schema)
        plain.pop("title", None)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            plain["description"] = _first_line(kind)
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return plain
        plain["description"] = _first_line(kind)
        comments = field_comments(kind)
        for field in msgspec.structs.fields(kind):
            if field.encode_name in plain["properties"]:
                plain["properties"][field.encode_name] = _with_comment(
                    plain["properties"][field.encode_name], comments.get(field.name)
                )
        if only_answered:
            _always_there(plain, kind)
        return plain


def parameters_of(kind: type[msgspec.Struct]) -> list[tuple[str, Schema, str]]:
    """The parameters of a query: name, schema, meaning."""
    comments = field_comments(kind)
    fields = msgspec.structs.fields(kind)
    schemas, components = msgspec.json.schema_components([one.type for one in fields], ref_template=REF_TEMPLATE)
    found = []
    for field, schema in zip(fields, schemas, strict=True):
        plain = _without_null(_inlined(_plain(schema), components))
        if field.default is not msgspec.NODEFAULT and field.default not in (None, "", ()):
            plain["default"] = msgspec.to_builtins(field.default)
        found.append((field.encode_name, plain, comments.get(field.name, "")))
    return found


def _named(kinds: Iterable[Any]) -> Iterator[type[Any]]:
    """Return the structs and enums that these types are made of."""
    seen: set[int] = set()
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(kinds))
    while waiting:
        info = waiting.pop()
        if id(info) in seen:
            continue
        seen.add(id(info))
        if isinstance(info, msgspec.inspect.StructType | msgspec.inspect.EnumType):
            yield info.cls
        parts = msgspec.structs.asdict(info).values() if isinstance(info, msgspec.Struct) else ()
        for value in parts:
            waiting += [
                one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, msgspec.Struct)
            ]


def _always_there(schema: Schema, kind: type[msgspec.Struct]) -> None:
    """An answer has every field, also those with a default, unless its struct leaves defaults out."""
    if not kind.__struct_config__.omit_defaults:
        schema["required"] = list(schema["properties"])
    for one in schema["properties"].values():
        one.pop("default", None)


def _with_comment(schema: Schema, comment: str | None) -> Schema:
    # Words beside a $ref are allowed since 3.1.
    return schema if not comment else {**schema, "description": comment.replace("None:", "Null:")}


def _plain(schema: Any) -> Schema:
    """Make plain JSON values of a schema; a value of any type says only that."""
    found = _cleaned(msgspec.to_builtins(schema))
    assert isinstance(found, dict)  # noqa: S101 - a schema is an object
    return found


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        if {} in value.get("anyOf", ()):
            rest = {name: one for name, one in value.items() if name != "anyOf"}
            return _cleaned(rest)
        if "prefixItems" in value and all(one == value["prefixItems"][0] for one in value["prefixItems"]):
            # A list of several of one kind: every reader knows that form, and few know the other.
            rest = {name: one for name, one in value.items() if name != "prefixItems"}
            return _cleaned({**rest, "items": value["prefixItems"][0]})
        return {name: _cleaned(one) for name, one in value.items()}
    return [_cleaned(one) for one in value] if isinstance(value, list | tuple) else value


def _inlined(schema: Schema, components: Mapping[str, Any]) -> Schema:
    """Parameters are short: their enums stand where they are used."""
    if "$ref" in schema:
        plain = _plain(components[schema["$ref"].removeprefix(_REF_PREFIX)])
        return {name: value for name, value in plain.items() if name not in ("title", "description")}
    return {
        name: _inlined(value, components)
        if isinstance(value, dict)
        else [_inlined(one, components) if isinstance(one, dict) else one for one in value]
        if isinstance(value, list)
        else value
        for name, value in schema.items()
    }


def _without_null(schema: Schema) -> Schema:
    """A parameter that is not given is null; it cannot be given as null."""
    kinds = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return dict(kinds[0]) if len(kinds) == 1 else schema


def _name(kind: type[Any]) -> str:
    return kind.__name__


def _first_line(kind: type[Any]) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]
