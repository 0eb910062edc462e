"""TQ210: after the last try the message is deleted, and only a line in a log says that it was there.

    if int(message["Attributes"]["ApproximateReceiveCount"]) > 5:
        logger.error("giving up")
        delete(message)

Also behind a loop of tries that swallows the last error. One that sends the message elsewhere, raises, or calls
anything that could keep it, has decided something.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.trace import Around, Happening, Trace, What, traces
from tenure.audit.tree import calls_here, last_name
from tenure.audit.work import Effort, effort_of

_TRIES = re.compile(r"attempt|retr|tries|receive|dequeue|deliver|failures")
_TELLS = ("print", "log", "sleep")
_MORE = (ast.Gt, ast.GtE)
_LESS = (ast.Lt, ast.LtE)


def dropped(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ210."""
    for trace in traces(module):
        for delete in trace.of(What.DELETE):
            text = _in_a_branch(module, delete) or _behind_the_tries(module, trace, delete)
            if text:
                yield Hit("TQ210", delete.node, text)


def _in_a_branch(module: Module, delete: Happening) -> str:
    """Why it is dropped by a branch that counts tries. Empty: it is not."""
    for statement, part in reversed(delete.around):
        if not isinstance(statement, ast.If):
            continue
        is_too_often = part == "body" and _asks_for_too_many(statement.test)
        if is_too_often and _only_tells(module, statement.body, delete):
            return f"deleted after the tries that line {statement.lineno} counts, and kept nowhere"
        return ""
    return ""


def _asks_for_too_many(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(map(_asks_for_too_many, test.values))
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    many = (
        test.left if isinstance(test.ops[0], _MORE) else test.comparators[0] if isinstance(test.ops[0], _LESS) else None
    )
    # The count stands on the larger side; the limit may be called MAX_RECEIVES.
    return many is not None and not isinstance(many, ast.Constant) and _TRIES.search(ast.dump(test).lower()) is not None


def _behind_the_tries(module: Module, trace: Trace, delete: Happening) -> str:
    """Why it is dropped behind a loop of tries. Empty: it is not."""
    steps = trace.steps[: trace.steps.index(delete)]
    received = max((place for place, one in enumerate(steps) if one.what is What.RECEIVE), default=-1)
    work = [one for one in steps[received + 1 :] if one.what in (What.WORK, What.STARTED)]
    loop = _loop_of_tries(work[0].around, delete.around) if work else None
    if loop is None or loop.orelse or not all(one.is_in(loop, "body") for one in work):
        return ""
    tries = [one for one in loop.body if isinstance(one, ast.Try)]
    handlers = [handler for one in tries for handler in one.handlers if _is_broad(handler)]
    if handlers and all(_only_tells(module, one.body, delete) for one in handlers):
        return f"deleted also when every try in line {loop.lineno} raised"
    return ""


def _loop_of_tries(work: Around, delete: Around) -> ast.For | None:
    """The `for … in range(…)` around the work that the delete stands behind."""
    for place, (statement, part) in enumerate(work):
        if not isinstance(statement, ast.For) or not isinstance(statement.iter, ast.Call) or part != "body":
            continue
        if last_name(statement.iter) == "range" and (statement, part) not in delete:
            return statement if delete == work[:place] else None
    return None


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )


def _only_tells(module: Module, body: Sequence[ast.stmt], delete: Happening) -> bool:
    """Whether a branch logs, waits and deletes, and nothing else."""
    plain = (ast.Pass, ast.Expr, ast.Continue, ast.Break, ast.Return)
    if not all(isinstance(one, plain) for one in body):
        return False
    deletes = {call.node for call in queue_calls(module) if call.kind is CallKind.DELETE} | {delete.node}
    calls = [call for one in body for call in calls_here(one) if call not in deletes]
    return all(effort_of(module, call) is Effort.NONE or last_name(call).startswith(_TELLS) for call in calls)
