"""Resolve what a call runs: itself, or a function passed to a thread, an executor or a `partial`.

    await asyncio.to_thread(sqs.delete_message, QueueUrl=url)
    await loop.run_in_executor(None, partial(sqs.delete_message, QueueUrl=url))
    await loop.run_in_executor(None, lambda: sqs.delete_message(QueueUrl=url))

are calls of `sqs.delete_message`, where they stand and when they are made. Asked by `queue_calls.py`.
"""

import ast
import builtins
from collections.abc import Sequence
from typing import NamedTuple

from tenure.audit.module import Module
from tenure.audit.tree import last_name

#: Who runs what it is given, and at which place it is given that.
_RUNNERS = {"to_thread": 0, "run_in_executor": 1, "run_sync": 0, "run_in_threadpool": 0, "submit": 0}
_DEEPEST = 3


class Called(NamedTuple):
    """A function with its arguments, as it is run."""

    #: The call that runs it: where that happens.
    node: ast.Call
    func: ast.expr
    args: Sequence[ast.expr]
    keywords: Sequence[ast.keyword]

    @property
    def name(self) -> str:
        """The last part of the function's name; empty where it has none."""
        return self.func.attr if isinstance(self.func, ast.Attribute) else getattr(self.func, "id", "")


def called(module: Module, call: ast.Call) -> Called:
    """Return the function that a call runs."""
    place = _RUNNERS.get(last_name(call))
    if place is not None and len(call.args) > place and not isinstance(call.args[place], ast.Starred):
        given = Called(call, call.args[place], call.args[place + 1 :], call.keywords)
        return _opened(module, given)
    own = Called(_runner(module, call), call.func, call.args, call.keywords)
    return _opened(module, own)


def _runner(module: Module, call: ast.Call) -> ast.Call:
    """Return the call that runs it: the one around its `lambda`, or the call itself."""
    around = module.parents.get(call)
    outer = module.parents.get(around) if isinstance(around, ast.Lambda) else None
    if isinstance(outer, ast.Call) and last_name(outer) in _RUNNERS and outer.func is not around:
        return outer
    return call


def _opened(module: Module, given: Called, depth: int = 0) -> Called:
    """Resolve a `partial`, or a name that is one or is bound to a method."""
    func = given.func
    if depth > _DEEPEST:
        return given
    if isinstance(func, ast.Call) and last_name(func) == "partial" and func.args:
        inner = given._replace(
            func=func.args[0], args=[*func.args[1:], *given.args], keywords=[*func.keywords, *given.keywords]
        )
        return _opened(module, inner, depth + 1)
    if isinstance(func, ast.Name) and not _is_known(module, func.id):
        bound = module.bound(func)
        if len(bound) == 1 and isinstance(bound[0], ast.Attribute | ast.Call):
            opened = _opened(module, given._replace(func=bound[0]), depth + 1)
            return opened if isinstance(opened.func, ast.Attribute) else given
    return given


def _is_known(module: Module, name: str) -> bool:
    """A function by its own name, as most are."""
    return name in module.imports or module.function_named(name) is not None or hasattr(builtins, name)
