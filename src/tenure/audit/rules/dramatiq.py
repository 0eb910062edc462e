"""TQ807 to TQ811: settings of Dramatiq that drop messages, or by which they never run as they were meant.

Times of Dramatiq are milliseconds. What the broker's middleware does is said only of files that make the broker.
"""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.tree import dotted, last_name

_SECOND, _DAY = 1000.0, 86_400_000.0
#: The first wait of its retries, unless it is set.
_MIN_BACKOFF = 15_000.0
#: A number below a second is no time limit and no age of a message.
_IN_MILLISECONDS = ("time_limit", "max_age")
_OF_MIDDLEWARE = {"TimeLimit": "time_limit", "AgeLimit": "max_age"}


def dramatiq_settings(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ807 to TQ811."""
    if not module.imports_any("dramatiq"):
        return
    for call in module.calls:
        yield from _seconds_for_milliseconds(module, call)
        yield from _too_old_to_retry(module, call)
        yield from _dead_expire(module, call)
        yield from _without_retries(module, call)
    yield from _async_without_loop(module)


def _word(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _is_actor(module: Module, call: ast.Call) -> bool:
    return module.full(call.func) in ("dramatiq.actor", "dramatiq.actor.actor")


def _is_broker(module: Module, call: ast.Call) -> bool:
    full = module.full(call.func) or ""
    return full.startswith("dramatiq.") and full.endswith("Broker") and not full.endswith("StubBroker")


def _seconds_for_milliseconds(module: Module, call: ast.Call) -> Iterator[Hit]:
    """TQ808."""
    named: tuple[str, ...] = (
        _IN_MILLISECONDS if _is_actor(module, call) or last_name(call) == "send_with_options" else ()
    )
    if (module.full(call.func) or "").startswith("dramatiq.middleware.") and last_name(call) in _OF_MIDDLEWARE:
        named = (_OF_MIDDLEWARE[last_name(call)],)
    for name in named:
        given = module.seconds(_word(call, name))
        if given is not None and 0 < given < _SECOND:
            yield Hit("TQ808", call, f"{name}={given:g} is {given / _SECOND:g} s")


def _too_old_to_retry(module: Module, call: ast.Call) -> Iterator[Hit]:
    """TQ809."""
    age = module.seconds(_word(call, "max_age")) if _is_actor(module, call) else None
    if age is None or age < _SECOND or module.seconds(_word(call, "max_retries")) == 0:
        return
    wait = _word(call, "min_backoff")
    first = _MIN_BACKOFF if wait is None else module.seconds(wait)
    # The wait has jitter: between half of it and all of it.
    if first is not None and age <= first / 2:
        text = f"max_age={age:g} ms, and the first retry comes after {first / 2:g} ms or later"
        yield Hit("TQ809", call, text)


def _dead_expire(module: Module, call: ast.Call) -> Iterator[Hit]:
    """TQ810."""
    kept = module.seconds(_word(call, "dead_message_ttl")) if _is_broker(module, call) else None
    if kept is not None and kept < _DAY:
        yield Hit("TQ810", call, f"dead_message_ttl={kept:g} ms keeps them for {kept / 60_000:g} minutes")


def _without_retries(module: Module, call: ast.Call) -> Iterator[Hit]:
    """TQ807."""
    given = _word(call, "middleware") if _is_broker(module, call) else None
    names = None if given is None else _middleware(module, given)
    if names is None or "Retries" in names or _adds(module, "Retries"):
        return
    yield Hit("TQ807", call, f"the middleware is {', '.join(names) or 'empty'}, without Retries")


def _middleware(module: Module, node: ast.expr) -> list[str] | None:
    """The classes in a list that is written out. None: there may be others."""
    bound = module.bound(node)
    listed = bound[0] if len(bound) == 1 and not _grows(module, node) else node
    if not isinstance(listed, ast.List | ast.Tuple):
        return None
    names: list[str] = []
    for one in listed.elts:
        name = dotted(one.func) if isinstance(one, ast.Call) else None
        if name is None:
            return None
        names.append(name.rpartition(".")[2])
    return names


def _grows(module: Module, node: ast.expr) -> bool:
    owners = [call.func.value for call in module.calls if isinstance(call.func, ast.Attribute)]
    return module.is_changed(node) or any(dotted(one) == dotted(node) for one in owners)


def _adds(module: Module, name: str) -> bool:
    """Whether the file adds it, or something of which that cannot be said."""
    added = [call.args[0] for call in module.calls if last_name(call) == "add_middleware" and call.args]
    return any(not isinstance(one, ast.Call) or last_name(one) == name for one in added)


def _async_without_loop(module: Module) -> Iterator[Hit]:
    """TQ811."""
    brokers = [call for call in module.calls if _is_broker(module, call)]
    if len(brokers) != 1 or _adds(module, "AsyncIO"):
        return
    given = _word(brokers[0], "middleware")
    names = [] if given is None else _middleware(module, given)
    if names is None or "AsyncIO" in names:
        return
    for function in module.functions:
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        for one in function.decorator_list:
            called = one.func if isinstance(one, ast.Call) else one
            if module.full(called) == "dramatiq.actor":
                yield Hit("TQ811", one, f"{function.name} is async, and the broker has no AsyncIO")
