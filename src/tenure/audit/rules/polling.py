"""TQ601: a loop that asks for messages and does not wait for them."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from tenure.audit.module import Module
from tenure.audit.queue_calls import POPS, CallKind, QueueCall, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import Function, calls_here, calls_in, last_name, walk_here

#: They are asked now and then, or wait by themselves.
_NOT_POLLING = {"xautoclaim", *POPS}
_PAUSES = ("sleep", "wait", "pause", "backoff", "idle")


def short_polls(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ601."""
    for call in queue_calls(module):
        if call.kind is not CallKind.RECEIVE or call.is_open or call.verb in _NOT_POLLING:
            continue
        loop = _loop_of(module, call)
        reason = _reason(module, call, loop) if loop is not None else ""
        if loop is not None and reason:
            yield Hit("TQ601", call.node, f"{call.name} is called in the loop of line {loop.lineno} and {reason}")


def _reason(module: Module, call: QueueCall, loop: ast.While) -> str:
    """Why it does not wait; empty: it does, or may."""
    match call.vendor:
        case "sqs":
            wait = call.word("WaitTimeSeconds")
            if wait is None:
                # A queue can wait by itself.
                return "" if module.says("ReceiveMessageWaitTimeSeconds") else "says no WaitTimeSeconds"
            return "says WaitTimeSeconds=0" if module.seconds(wait) == 0 else ""
        case "redis":
            return "" if call.word("block") is not None or _pauses(module, loop) else "says no block"
    is_endless = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    leaves = any(isinstance(one, ast.Break | ast.Return) for one in walk_here(loop))
    return "nothing pauses while the queue is empty" if is_endless and not leaves and not _pauses(module, loop) else ""


def _pauses(module: Module, loop: ast.stmt) -> bool:
    calls = list(calls_here(loop))
    inside = [function for call in calls if (function := module.local_function(call)) is not None]
    calls += [call for function in inside for call in calls_in(function)]
    return any(word in last_name(call).lower() for call in calls for word in _PAUSES)


def _loop_of(module: Module, call: QueueCall) -> ast.While | None:
    """The loop that it is called in, also by way of one function of this file."""
    direct = _around(module, call.node)
    function = module.function_of(call.node)
    return direct if direct is not None or function is None else _called_in_loops(module).get(function)


@lru_cache(maxsize=8)
def _called_in_loops(module: Module) -> dict[Function, ast.While]:
    """The functions of this file that a `while` calls, and the first that does."""
    found: dict[Function, ast.While] = {}
    for call in module.calls:
        local, loop = module.local_function(call), _around(module, call)
        if local is not None and loop is not None:
            found.setdefault(local, loop)
    return found


def _around(module: Module, node: ast.AST) -> ast.While | None:
    """The `while` that it stands in. A `for` goes over several queues, which must not keep each other waiting."""
    inner = node
    for one in module.around(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        if isinstance(one, ast.While) and (inner in one.body or inner is one.test):
            return one
        if isinstance(one, ast.For | ast.AsyncFor) and inner in one.body:
            return None
        inner = one
    return None
