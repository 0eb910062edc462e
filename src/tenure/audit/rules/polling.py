"""TQ601: a loop that asks for messages and does not wait for them."""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.queue_calls import Kind, QueueCall, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import calls_here, calls_in, last_name, walk_here

_LOOPS = (ast.While, ast.For, ast.AsyncFor)
_PAUSES = ("sleep", "wait", "pause", "backoff", "idle")


def short_polls(module: Module) -> Iterator[Hit]:
    """TQ601."""
    for call in queue_calls(module):
        if call.kind is not Kind.RECEIVE or call.is_open or last_name(call.node) == "xautoclaim":
            continue
        loop = _loop_of(module, call)
        reason = _reason(module, call, loop) if loop is not None else ""
        if loop is not None and reason:
            yield Hit("TQ601", call.node, f"{call.name} is called in the loop of line {loop.lineno} and {reason}")


def _reason(module: Module, call: QueueCall, loop: ast.stmt) -> str:
    """Why it does not wait; empty: it does, or may."""
    match call.vendor:
        case "sqs":
            wait = call.word("WaitTimeSeconds")
            if wait is None:
                # A queue can wait by itself.
                is_set = any(_speaks(one, "ReceiveMessageWaitTimeSeconds") for one in ast.walk(module.tree))
                return "" if is_set else "says no WaitTimeSeconds"
            return "says WaitTimeSeconds=0" if module.seconds(wait) == 0 else ""
        case "redis":
            return "" if call.word("block") is not None or _pauses(module, loop) else "says no block"
    is_endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    leaves = any(isinstance(one, ast.Break | ast.Return) for one in walk_here(loop))
    return "nothing pauses while the queue is empty" if is_endless and not leaves and not _pauses(module, loop) else ""


def _speaks(node: ast.AST, word: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == word


def _pauses(module: Module, loop: ast.stmt) -> bool:
    calls = list(calls_here(loop))
    inside = [function for call in calls if (function := module.local_function(call)) is not None]
    calls += [call for function in inside for call in calls_in(function)]
    return any(word in last_name(call).lower() for call in calls for word in _PAUSES)


def _loop_of(module: Module, call: QueueCall) -> ast.While | ast.For | ast.AsyncFor | None:
    """The loop that it is called in, also by way of one function of this file."""
    direct = _around(module, call.node)
    function = module.function_of(call.node)
    if direct is not None or function is None:
        return direct
    callers = (one for one in module.calls if module.local_function(one) is function)
    loops = (loop for one in callers if (loop := _around(module, one)) is not None and isinstance(loop, ast.While))
    return next(loops, None)


def _around(module: Module, node: ast.AST) -> ast.While | ast.For | ast.AsyncFor | None:
    inner = node
    for one in module.around(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        if isinstance(one, _LOOPS) and inner in one.body:
            return one
        if isinstance(one, ast.While) and inner is one.test:
            return one
        inner = one
    return None
