"""TQ302 and TQ303: a heartbeat that begins after a long download, and one that ends at its first error."""

import ast
import re
from collections.abc import Iterator

from tenure.audit.module import BEATS, Module
from tenure.audit.queue_calls import CallKind, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import FUNCTIONS, Function, calls_in, last_name

_LONG = re.compile(r"^_*(download|fetch_(file|video|object|blob))|_download(_|$)")
_BROAD = {"Exception", "BaseException", "ClientError", "BotoCoreError", "AzureError", "HttpResponseError", "RedisError"}


def late_heartbeats(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ302: where a function downloads what a message names, and then begins to beat."""
    if not module.speaks_of_beats:
        return
    calls = {call.node: call.kind for call in queue_calls(module)}
    for function in module.functions:
        inside = calls_in(function)
        start = next((call for call in inside if _begins_to_beat(call)), None)
        if start is None:
            continue
        received = [call.lineno for call in inside if calls.get(call) is CallKind.RECEIVE]
        held = [call.lineno for call in inside if calls.get(call) is CallKind.EXTEND]
        since = max((line for line in received if line < start.lineno), default=function.lineno)
        for call in inside:
            is_between = since < call.lineno < start.lineno
            if is_between and _LONG.search(last_name(call)) and not any(since < line < call.lineno for line in held):
                text = f"{last_name(call)} runs before the heartbeat begins in line {start.lineno}"
                yield Hit("TQ302", call, text)
                break


def _begins_to_beat(call: ast.Call) -> bool:
    """`VisibilityHeartbeat(…)`, `start_heartbeat(…)`, `Thread(target=keep_alive)`."""
    given = [one.value for one in call.keywords if one.arg == "target"]
    names = [last_name(call), *(getattr(one, "attr", getattr(one, "id", "")) for one in given)]
    return any(BEATS.search(name.lower()) for name in names)


def ending_heartbeats(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ303."""
    calls = queue_calls(module)
    receiving = {module.function_of(call.node) for call in calls if call.kind is CallKind.RECEIVE}
    for call in calls:
        function = module.function_of(call.node)
        if call.kind is not CallKind.EXTEND or function is None or function in receiving:
            continue
        reason = _why_it_ends(module, call.node)
        if reason and _is_beat(module, function):
            yield Hit("TQ303", call.node, reason)


def _is_beat(module: Module, function: Function) -> bool:
    """Whether it works on no message itself: nothing is deleted there."""
    deleting = {module.function_of(call.node) for call in queue_calls(module) if call.kind is CallKind.DELETE}
    return function not in deleting


def _why_it_ends(module: Module, node: ast.AST) -> str:
    """Why one error ends the loop around an extend. Empty: it goes on, or there is no loop."""
    inner: ast.AST = node
    reason = ""
    for outer in module.around(node):
        if isinstance(outer, FUNCTIONS):
            return ""
        if isinstance(outer, ast.While):
            return reason or "no error of it is caught in the loop: the first one ends the heartbeat"
        if isinstance(outer, ast.Try) and inner in outer.body and not reason:
            broad = next((one for one in outer.handlers if _is_broad(one.type)), None)
            if broad is None:
                return ""  # particular errors: a decision of the author
            if not _leaves(broad):
                return ""
            reason = f"the except in line {broad.lineno} leaves the loop: the first error ends the heartbeat"
        if isinstance(outer, ast.With | ast.AsyncWith) and any(_suppresses(item.context_expr) for item in outer.items):
            return ""
        inner = outer
    return ""


def _is_broad(kind: ast.expr | None) -> bool:
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(one is None or getattr(one, "attr", getattr(one, "id", "")) in _BROAD for one in parts)


def _leaves(handler: ast.ExceptHandler) -> bool:
    """Whether it always leaves the loop: it asks nothing before."""
    is_plain = not any(isinstance(one, ast.If | ast.Match) for one in handler.body)
    return is_plain and isinstance(handler.body[-1], ast.Break | ast.Return | ast.Raise)


def _suppresses(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node) == "suppress"
