"""Decoding: from the query string and the body of a request to the structs of its route.

What does not fit is answered 422 with the name of the parameter, or the place in the body.
"""

import re
import types
import typing
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from tenure.server.errors import RequestInvalid

_MOST_PARAMETERS = 200
#: How msgspec says where a value is.
_PLACE = re.compile(r" - at `(?:key in )?\$?\.?([^`]*)`")


def decode_query(query_string: bytes, kind: type[msgspec.Struct] | None) -> Any:
    """The parameters as the route's struct. None: the route takes none. Raises `RequestInvalid`."""
    values = _parsed(query_string)
    fields = {} if kind is None else _fields(kind)
    for name in values:
        if name not in fields:
            takes = f"it takes {', '.join(fields)}" if fields else "it takes none"
            msg = f"{name[:40]!r} is not a parameter of this route; {takes}"
            raise RequestInvalid(msg, field=name[:40])
    if kind is None:
        return None
    given: dict[str, Any] = {}
    for name, many in values.items():
        if not fields[name] and len(many) > 1:
            msg = f"{name} is given {len(many)} times; this route takes it once"
            raise RequestInvalid(msg, field=name)
        given[name] = many if fields[name] else many[0]
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, "parameter") from None


def decode_body(raw: bytes, kind: Any) -> Any:
    """The body as the route's type. Raises `RequestInvalid`."""
    if kind is None:
        return None
    if not raw.strip():
        raw = b"{}"  # a struct whose fields all have defaults needs no body
    try:
        return _decoder(kind).decode(raw)
    except msgspec.ValidationError as error:
        raise _invalid(error, "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"the body is not JSON in UTF-8: {error}"
        raise RequestInvalid(msg, field="body") from None
    except RecursionError:
        msg = "the body has lists and objects nested too deep"
        raise RequestInvalid(msg, field="body") from None


def _invalid(error: msgspec.ValidationError, what: str) -> RequestInvalid:
    text = str(error)
    found = _PLACE.search(text)
    place = found[1] if found is not None and found[1] else None
    sentence = _PLACE.sub("", text)
    return RequestInvalid(f"{place or what}: {sentence}", field=place or what)


def _parsed(query_string: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        msg = f"the query is not text in UTF-8, or has over {_MOST_PARAMETERS} parameters"
        raise RequestInvalid(msg, field="query") from None
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


@lru_cache(maxsize=256)
def _fields(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """The parameters of a route, and whether each may be repeated."""
    return {field.encode_name: _is_list(field.type) for field in msgspec.structs.fields(kind)}


def _is_list(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return any(map(_is_list, typing.get_args(kind)))
    return origin in (list, tuple, set, frozenset) or kind in (list, tuple, set, frozenset)


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
