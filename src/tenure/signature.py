"""A handler's signature, read once: how a payload becomes arguments, and arguments a payload.

The payload's keys are the handler's parameters without `ctx`. Types are the handler's own annotations,
checked by msgspec; dataclasses, msgspec structs and pydantic models work as they are. Extra keys are
ignored, so that a new sender can meet an old worker.

Used by `task.py`.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tenure.context import Context, SyncContext
from tenure.errors import BadTask, PayloadInvalid

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_IMMUTABLE = (str, int, float, bool, bytes, tuple, frozenset, type(None))


class Signature:
    """The payload side of one handler."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Read the function's parameters; raises `BadTask` where no payload could fill them."""
        self.is_async = inspect.iscoroutinefunction(function)
        self._name = name
        parameters = list(inspect.signature(function).parameters.values())
        hints = _hints(function, name)
        self.wants_context = bool(parameters) and _is_context(parameters[0], hints, name, is_async=self.is_async)
        self._parameters = parameters[1:] if self.wants_context else parameters
        for parameter in self._parameters:
            _refuse_star(parameter, name)
        self._names = tuple(parameter.name for parameter in self._parameters)
        self._known = frozenset(self._names)
        self._positional = tuple(p.name for p in self._parameters if p.kind in _POSITIONAL)
        fields = [_field(parameter, hints) for parameter in self._parameters]
        payload = msgspec.defstruct("Payload", fields, kw_only=True)
        try:
            self._decoder = msgspec.json.Decoder(payload, dec_hook=_decode_hook)
        except TypeError as error:
            msg = f"task {name}: a parameter has a type that no payload can be read into: {error}"
            raise BadTask(msg) from error
        self._result_encoder = msgspec.json.Encoder(enc_hook=_encode_hook)

    def body(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> msgspec.Raw:
        """The payload for a call with these arguments; raises `PayloadInvalid` if the handler could not take it."""
        payload = dict(zip(self._positional, arguments, strict=False))
        if len(arguments) > len(self._positional) or not payload.keys().isdisjoint(keywords):
            raise PayloadInvalid(self._sentence("too many arguments, or one given twice"))
        payload.update(keywords)
        return self.payload(payload)

    def payload(self, payload: Any) -> msgspec.Raw:
        """Encode a payload given as a mapping, and check that the handler could take it.

        A sender that names a parameter which is not there is mistaken; a worker that reads one is only older.
        """
        if isinstance(payload, Mapping) and not payload.keys() <= self._known:
            unknown = ", ".join(sorted(str(name) for name in payload.keys() - self._known))
            raise PayloadInvalid(self._sentence(f"no parameter named {unknown}; nothing was sent"))
        try:
            raw = self._result_encoder.encode(payload)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise PayloadInvalid(self._sentence(str(error))) from error
        self.arguments(raw)
        return msgspec.Raw(raw)

    def arguments(self, body: bytes | msgspec.Raw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What to call the handler with; raises `PayloadInvalid` with a readable reason."""
        try:
            payload = self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
            raise PayloadInvalid(self._sentence(str(error)), body) from error
        values = msgspec.structs.astuple(payload)
        count = len(self._positional)
        if count == len(values):
            return values, {}
        return values[:count], dict(zip(self._names[count:], values[count:], strict=True))

    def encode_result(self, result: Any) -> bytes:
        """The result as JSON; raises TypeError where it has no JSON form."""
        return self._result_encoder.encode(result)

    def _sentence(self, detail: str) -> str:
        return f"the payload does not fit {self._name}({', '.join(self._names)}): {detail}"


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        msg = f"task {name}: an annotation cannot be resolved ({error}); import the type at module level"
        raise BadTask(msg) from error


def _is_context(parameter: inspect.Parameter, hints: dict[str, Any], name: str, *, is_async: bool) -> bool:
    hint = hints.get(parameter.name)
    if hint not in (Context, SyncContext) and not (hint is None and parameter.name == "ctx"):
        return False
    wrong = SyncContext if is_async else Context
    if hint is wrong:
        right = Context if is_async else SyncContext
        kind = "an async" if is_async else "a sync"
        msg = f"task {name}: {kind} handler takes ctx: {right.__name__}, not {wrong.__name__}"
        raise BadTask(msg)
    return True


def _refuse_star(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        msg = f"task {name}: *{parameter.name} cannot be filled from a payload; name each parameter"
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
