"""TQ204: errors of a delete that are swallowed.

An error that is logged, counted, raised to the caller or retried is handled. So is the error that the message is gone
already.
"""

import ast
import re
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import calls_here, last_name

_BROAD = {
    "Exception",
    "BaseException",
    "ClientError",
    "BotoCoreError",
    "AzureError",
    "HttpResponseError",
    "ServiceRequestError",
    "ServiceResponseError",
    "RedisError",
    "ConnectionError",
}
_ATTEMPT = re.compile(r"(^|_)(attempt|retr|tries)")
_UNHEARD = {"debug"}


def swallowed_errors(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ204."""
    for call in queue_calls(module):
        if call.kind is not CallKind.DELETE:
            continue
        found = _swallower(module, call.node)
        if found is not None:
            what = "contextlib.suppress" if isinstance(found, ast.expr) else "the except"
            yield Hit("TQ204", call.node, f"{what} in line {found.lineno} drops every error of {call.name}")


def _swallower(module: Module, node: ast.AST) -> ast.expr | ast.ExceptHandler | None:
    """The handler that drops an error of this call; None: the error is passed on or handled."""
    inner: ast.AST = node
    for outer in module.around(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        if isinstance(outer, ast.With | ast.AsyncWith) and inner in outer.body:
            for item in outer.items:
                if isinstance(item.context_expr, ast.Call) and _suppresses(item.context_expr):
                    return item.context_expr
        if isinstance(outer, ast.Try | ast.TryStar) and inner in outer.body:
            broad = [handler for handler in outer.handlers if _is_broad(handler.type)]
            if broad:
                # In a loop of its own the next turn may be the next try: for attempt in range(3).
                is_tried_again = _is_attempt(module, outer)
                return broad[0] if _is_silent(broad[0]) and not is_tried_again else None
        inner = outer
    return None


def _suppresses(call: ast.Call) -> bool:
    return last_name(call) == "suppress" and any(map(_is_broad, call.args))


def _is_broad(node: ast.expr | None) -> bool:
    if node is None:
        return True
    if isinstance(node, ast.Tuple):
        return any(map(_is_broad, node.elts))
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in _BROAD


def _is_silent(handler: ast.ExceptHandler) -> bool:
    """Whether nothing in it could report the error."""
    for one in handler.body:
        is_plain = isinstance(one, ast.Pass | ast.Continue | ast.Break | ast.Expr) or (
            isinstance(one, ast.Return) and (one.value is None or _is_none(one.value))
        )
        if not is_plain or any(last_name(call) not in _UNHEARD for call in calls_here(one)):
            return False
    return True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_attempt(module: Module, statement: ast.AST) -> bool:
    for one in module.around(statement):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        if isinstance(one, ast.For | ast.AsyncFor | ast.While):
            words = {name.id.lower() for name in ast.walk(one) if isinstance(name, ast.Name)}
            return any(map(_ATTEMPT.search, words))
    return False
