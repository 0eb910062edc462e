"""TQ501: calls that stop the event loop, in async code that handles messages.

Handlers are the async functions that call a queue, tasks of a Tenure app, and what these call in the same file. Only
what is sure to block counts: known functions of known modules, and clients that are known to be sync.
"""

import ast
from collections.abc import Iterator

from tenure.audit.clients import client_of
from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import Function, calls_in, walk_body

_VERBS = ("delete", "get", "head", "options", "patch", "post", "put", "request")
_BLOCKING = {
    "time.sleep",
    "os.system",
    "urllib.request.urlopen",
    "socket.create_connection",
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput")),
    *(f"{module}.{verb}" for module in ("requests", "httpx") for verb in _VERBS),
}
#: They wait for nothing.
_LOCAL = {"generate_presigned_url", "generate_presigned_post", "get_paginator", "get_waiter", "can_paginate", "close"}


def blocking_calls(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ501."""
    seen: set[ast.AST] = set()
    for handler in _handlers(module):
        for call in calls_in(handler):
            what = None if call in seen else _blocks(module, call) or _blocks_inside(module, call)
            if what is not None:
                seen.add(call)
                yield Hit("TQ501", call, f"{what} stops the event loop of {handler.name}()")


def _handlers(module: Module) -> list[ast.AsyncFunctionDef]:
    """Async functions on a message's way, from those that call a queue down to what they call."""
    settling = [call for call in queue_calls(module) if call.kind is not CallKind.SEND]
    ahead: list[Function] = [one for call in settling if (one := module.function_of(call.node)) is not None]
    ahead += [one for one in module.functions if module.imports_any("tenure") and _is_task(one)]
    found: dict[Function, None] = {}
    while ahead:
        function = ahead.pop()
        if function not in found:
            found[function] = None
            ahead += _reached(module, function)
    return [one for one in found if isinstance(one, ast.AsyncFunctionDef)]


def _is_task(function: Function) -> bool:
    made = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
    return any(isinstance(one, ast.Attribute) and one.attr == "task" for one in made)


def _reached(module: Module, function: Function) -> list[Function]:
    """Return the functions that it calls, or passes on by name to be called."""
    calls = calls_in(function)
    called = {local for call in calls if (local := module.local_function(call)) is not None}
    names = {one.id for call in calls for one in call.args if isinstance(one, ast.Name)}
    given = {one for one in map(module.function_named, names) if isinstance(one, ast.AsyncFunctionDef)}
    return sorted(called | given, key=lambda one: one.lineno)


def _blocks(module: Module, call: ast.Call) -> str | None:
    """Name the call that blocks. None: it is not certain that one does."""
    if isinstance(module.parents.get(call), ast.Await):
        return None
    full = module.full(call.func) or ""
    if full in _BLOCKING and full.split(".")[0] in _roots(module):
        return f"{full}()"
    if isinstance(call.func, ast.Attribute) and call.func.attr not in _LOCAL:
        client = client_of(module, call.func.value)
        if client is not None and client.is_async is False and client.vendor != "redis":
            is_call = client.vendor != "http" or call.func.attr in _VERBS
            return f"{call.func.attr}() of a sync client" if is_call else None
    return None


def _roots(module: Module) -> set[str]:
    return {name.split(".")[0] for name in module.imports.values()}


def _blocks_inside(module: Module, call: ast.Call) -> str | None:
    """A plain function of this file that blocks: the loop stands still just as well."""
    local = module.local_function(call)
    # A decorator may run it elsewhere, as `@run_in_executor` does; what is awaited is no plain function.
    if not isinstance(local, ast.FunctionDef) or local.decorator_list or isinstance(module.parents[call], ast.Await):
        return None
    if any(isinstance(one, ast.Yield) for one in walk_body(local)):
        return None
    found = ((inner, _blocks(module, inner)) for inner in calls_in(local))
    return next((f"{what} in line {inner.lineno}, by {local.name}()," for inner, what in found if what), None)
