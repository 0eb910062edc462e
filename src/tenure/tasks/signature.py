"""A handler's signature, read once: how a payload becomes arguments, and arguments a payload.

The payload's keys are the handler's parameters without `ctx`. Types are the handler's own annotations,
checked by msgspec; dataclasses, msgspec structs and pydantic models work as they are. Extra keys are
ignored, so that a new sender can meet an old worker.

Used by `task.py`.
"""

import dataclasses
import difflib
import functools
import inspect
import math
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import msgspec.inspect

from tenure.errors import BadTask, PayloadInvalid, ResultInvalid, ResultTooLarge
from tenure.group import GroupResult
from tenure.rules.sendable import MOST_LEVELS, is_too_deep
from tenure.tasks.call import OPTION_NAMES
from tenure.tasks.context import Context, SyncContext

#: Options that are also good names for data. Nothing is unclear about them: `submit` takes the handler's own
#: parameters, `app.submit` the options.
_PLAIN_WORDS = frozenset({"id", "key", "headers", "correlation_id", "webhook", "client"})

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_IMMUTABLE = (str, int, float, bool, bytes, tuple, frozenset, type(None))


class Signature:
    """The payload side of one handler."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Read the function's parameters; raises `BadTask` where no payload could fill them."""
        _refuse_kind(function, name)
        self.is_async = inspect.iscoroutinefunction(function)
        self._name = name
        parameters = list(inspect.signature(function).parameters.values())
        hints = _hints(function, name)
        self.wants_context = bool(parameters) and _is_context(parameters[0], hints, name, is_async=self.is_async)
        self._parameters = parameters[1:] if self.wants_context else parameters
        for parameter in self._parameters:
            _refuse_star(parameter, name)
            _refuse_parameter(parameter, hints, name)
        self._result = hints.get("return", Any)
        self._names = tuple(parameter.name for parameter in self._parameters)
        self._known = frozenset(self._names)
        self._positional = tuple(p.name for p in self._parameters if p.kind in _POSITIONAL)
        #: The parameter that gets the results of a group. None: it has none.
        self.group_parameter = next((one.name for one in self._parameters if _is_group(hints[one.name])), None)
        fields = [_field(parameter, hints) for parameter in self._parameters]
        payload = msgspec.defstruct("Payload", fields, kw_only=True)
        try:
            self._decoder = msgspec.json.Decoder(payload, dec_hook=_decode_hook)
        except TypeError as error:
            msg = f"task {name}: a parameter has a type that no payload can be read into: {error}"
            raise BadTask(msg) from error
        _refuse_unreadable(payload, name)
        self._result_encoder = msgspec.json.Encoder(enc_hook=_encode_hook)

    @property
    def names(self) -> tuple[str, ...]:
        """The payload's keys: the parameters without `ctx`."""
        return self._names

    def body(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> msgspec.Raw:
        """The payload for a call with these arguments; raises `PayloadInvalid` if the handler could not take it."""
        payload = dict(zip(self._positional, arguments, strict=False))
        if len(arguments) > len(self._positional) or not payload.keys().isdisjoint(keywords):
            raise PayloadInvalid(self._sentence("too many arguments, or one given twice; nothing was sent"))
        payload.update(keywords)
        return self.payload(payload)

    def payload(self, payload: Any) -> msgspec.Raw:
        """Encode a payload given as a mapping, and check that the handler could take it.

        A sender that names a parameter which is not there is mistaken; a worker that reads one is only older.
        """
        if isinstance(payload, Mapping) and not payload.keys() <= self._known:
            raise PayloadInvalid(self._sentence(f"{self._unknown(payload.keys() - self._known)}; nothing was sent"))
        try:
            raw = self._result_encoder.encode(payload)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise PayloadInvalid(self._sentence(f"{error}; nothing was sent")) from error
        if b"null" in raw and _has_no_number(payload):
            raise PayloadInvalid(self._sentence("NaN and infinity have no JSON form; nothing was sent"))
        try:
            self._decoder.decode(raw)
        except _UNREADABLE as error:
            raise PayloadInvalid(self._sentence(f"{error}; nothing was sent")) from error
        return msgspec.Raw(raw)

    def arguments(self, body: bytes | msgspec.Raw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments for the handler; raises `PayloadInvalid` with a readable reason."""
        try:
            payload = self._decoder.decode(body)
        except _UNREADABLE as error:
            raise PayloadInvalid(self._sentence(str(error)), body) from error
        values = msgspec.structs.astuple(payload)
        count = len(self._positional)
        if count == len(values):
            return values, {}
        return values[:count], dict(zip(self._names[count:], values[count:], strict=True))

    def fits(self, function: Callable[..., Any]) -> bool:
        """Whether a function can be called as the handler is, without its context. True where that cannot be known."""
        try:
            signature = inspect.signature(function)
        except ValueError:  # some that are written in C
            return True
        count = len(self._positional)
        try:
            signature.bind(*self._names[:count], **dict.fromkeys(self._names[count:]))
        except TypeError:
            return False
        return True

    def encode_result(self, result: Any, limit: int) -> bytes:
        """The result as JSON; raises `ResultInvalid` where it has no such form, `ResultTooLarge` over `limit` bytes."""
        if result is None:
            return b"null"
        try:
            raw = self._result_encoder.encode(result)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            msg = f"{self._name} returned a {type(result).__name__} that has no JSON form: {error}"
            raise ResultInvalid(msg) from error
        if b"null" in raw and _has_no_number(result):
            msg = f"{self._name} returned NaN or infinity, which have no JSON form"
            raise ResultInvalid(msg)
        if is_too_deep(raw):
            msg = f"{self._name} returned lists and objects nested over {MOST_LEVELS} levels"
            raise ResultInvalid(msg)
        if len(raw) > limit:
            msg = f"{self._name} returned {len(raw)} bytes of JSON, and results may have {limit}"
            raise ResultTooLarge(msg)
        return raw

    def decode_result(self, raw: bytes) -> Any:
        """The result as the handler's own return type; raises `ResultInvalid`."""
        try:
            return self._result_decoder.decode(raw)
        except _UNREADABLE as error:
            msg = f"the result of {self._name} does not fit its return type here: {error}"
            raise ResultInvalid(msg) from error

    @functools.cached_property
    def _result_decoder(self) -> "msgspec.json.Decoder[Any]":
        plain: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
        try:
            strict = msgspec.json.Decoder(self._result, dec_hook=_decode_hook)
            known = all(map(_is_readable, _custom(msgspec.inspect.type_info(self._result), set())))
        except TypeError:
            return plain
        # A type that JSON does not know (a Protocol, a class of one's own): plain values then.
        return strict if known else plain

    def _unknown(self, names: set[Any]) -> str:
        options = sorted(str(name) for name in names if name in OPTION_NAMES)
        if options:
            sent = ", ".join(f"{name}=…" for name in options)
            return f"{', '.join(options)}: an option and no parameter, {self._name}.bind(…).submit({sent}) takes it"
        unknown = sorted(map(str, names))
        near = difflib.get_close_matches(unknown[0], self._names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"no parameter named {', '.join(unknown)}{hint}"

    def _sentence(self, detail: str) -> str:
        return f"the payload does not fit {self._name}({', '.join(self._names)}): {detail}"


_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, RecursionError)


def _refuse_kind(function: Callable[..., Any], name: str) -> None:
    """Refuse what can be called but never runs as a handler."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        msg = f"task {name}: a handler returns once, and this one yields; collect what it yields, or submit each"
        raise BadTask(msg)
    if inspect.isclass(function) or not callable(function):
        msg = f"task {name}: {function!r} is not a function; decorate a function or an async function"
        raise BadTask(msg)
    if name == "<lambda>":
        msg = "a lambda has no name that a worker could find it by: use def, or give it one with name="
        raise BadTask(msg)


def _refuse_parameter(parameter: inspect.Parameter, hints: dict[str, Any], name: str) -> None:
    """Refuse a parameter that a payload cannot fill in one clear way."""
    word = parameter.name
    if word not in hints:
        msg = f"task {name}: parameter {word} has no annotation, so no payload can be checked for it; write {word}: str"
        raise BadTask(msg)
    if _kind_of_context(hints[word]) is not None:
        msg = f"task {name}: {word} is the context, and the context comes first"
        raise BadTask(msg)
    if word in OPTION_NAMES - _PLAIN_WORDS:
        msg = (
            f"task {name}: parameter {word} has the name of an option of submit, and a reader of "
            f"{name}.submit(…, {word}=…) would take it for that; rename it"
        )
        raise BadTask(msg)


def _refuse_unreadable(payload: type[msgspec.Struct], name: str) -> None:
    """Refuse a type that JSON does not know and that cannot check itself: no message could ever be read into it."""
    for field in msgspec.inspect.type_info(payload).fields:  # type: ignore[attr-defined] # a struct has fields
        found = next((kind for kind in _custom(field.type, set()) if not _is_readable(kind)), None)
        if found is not None:
            msg = (
                f"task {name}: parameter {field.name} has the type {found.__name__}, which JSON cannot fill; "
                "use plain types, a dataclass, a msgspec.Struct or a pydantic model"
            )
            raise BadTask(msg)


def _is_readable(kind: type) -> bool:
    """Whether a value that msgspec leaves to us can be made of JSON."""
    return kind is object or hasattr(kind, "model_validate")


def _has_no_number(value: Any) -> bool:
    """Whether NaN or infinity is in it somewhere: msgspec would write null, silently."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(_has_no_number(one) for one in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_has_no_number, value))
    if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
        return _has_no_number(msgspec.to_builtins(value, enc_hook=_encode_hook))
    return False


def _custom(info: Any, seen: set[int]) -> Iterator[type]:
    """Every type within `info` that msgspec does not read by itself."""
    if id(info) in seen:
        return
    seen.add(id(info))
    if isinstance(info, msgspec.inspect.CustomType):
        yield info.cls
    for value in msgspec.structs.asdict(info).values() if isinstance(info, msgspec.Struct) else ():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, msgspec.Struct):
                yield from _custom(part, seen)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        msg = f"task {name}: an annotation cannot be resolved ({error}); import the type at module level"
        raise BadTask(msg) from error


def _is_context(parameter: inspect.Parameter, hints: dict[str, Any], name: str, *, is_async: bool) -> bool:
    kind = _kind_of_context(hints.get(parameter.name))
    if kind is None and not (parameter.name not in hints and parameter.name == "ctx"):
        return False
    wrong = SyncContext if is_async else Context
    if kind is wrong:
        right = Context if is_async else SyncContext
        function = "an async" if is_async else "a sync"
        msg = f"task {name}: {function} handler takes ctx: {right.__name__}, not {wrong.__name__}"
        raise BadTask(msg)
    return True


def _kind_of_context(hint: Any) -> type[Any] | None:
    """The context that an annotation names, as `Context` or as `Context[State]`. None: it names none."""
    kind = typing.get_origin(hint) or hint
    return kind if kind in (Context, SyncContext) else None


def _is_group(hint: Any) -> bool:
    return GroupResult in (hint, *typing.get_args(hint))


def _refuse_star(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
        msg = f"task {name}: {stars}{parameter.name} cannot be filled from a payload; name each parameter"
        raise BadTask(msg)


def _field(parameter: inspect.Parameter, hints: dict[str, Any]) -> Any:
    kind = hints.get(parameter.name, Any)
    if parameter.default is inspect.Parameter.empty:
        return (parameter.name, kind)
    default = parameter.default
    if isinstance(default, _IMMUTABLE):
        return (parameter.name, kind, default)
    return (parameter.name, kind, msgspec.field(default_factory=lambda: default))


def _decode_hook(kind: Any, value: Any) -> Any:
    """Types that check themselves (pydantic's models do)."""
    validate = getattr(kind, "model_validate", None)
    if kind is object:
        return value
    if validate is None:
        msg = f"{kind!r} cannot be read from JSON"
        raise TypeError(msg)
    return validate(value)


def _encode_hook(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        msg = f"{type(value).__name__} has no JSON form"
        raise TypeError(msg)
    return dump(mode="json")
