"""TQ206: an error of the work is only logged, and the message deleted as if it had been done.

    try:
        process(message)
    except Exception:
        logger.exception("failed")
    delete(message)

Also where it is put into the list that a batch delete gets. Only where nothing else was done with the message, and the
`except` only logs or counts: one that keeps a flag, sends the message elsewhere, or leaves, has decided something.
"""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.trace import Happening, Trace, What, traces
from tenure.audit.tree import calls_here, last_name
from tenure.audit.work import Effort, effort_of

_BROAD = {"Exception", "BaseException"}
_TELLS = ("print", "log")


def forgiven_errors(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ206."""
    for trace in traces(module):
        for end in [*trace.of(What.DELETE), *_listed(trace)]:
            work = _work_before(trace, end)
            handler = _forgiver(module, work, end) if work else None
            if handler is not None:
                line = work[0].node.lineno
                text = f"deleted also when the work in line {line} raised: the except in line {handler.lineno} goes on"
                yield Hit("TQ206", end.node, text)


def _listed(trace: Trace) -> list[Happening]:
    """Return the entries of a list that a batch delete takes as a whole."""
    batches = [step.call.words.get("Entries") for step in trace.of(What.DELETE) if step.call is not None]
    names = {one.id for one in batches if isinstance(one, ast.Name)}
    return [step for step in trace.of(What.KEPT) if _list_of(step.node) in names]


def _list_of(call: ast.Call) -> str:
    """The list to which it appends. Empty: it does something else."""
    before = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "append" else None
    return before.id if isinstance(before, ast.Name) else ""


def _work_before(trace: Trace, delete: Happening) -> list[Happening]:
    """The work since the receive."""
    steps = trace.steps[: trace.steps.index(delete)]
    received = max((place for place, step in enumerate(steps) if step.what is What.RECEIVE), default=-1)
    return [step for step in steps[received + 1 :] if step.what in (What.WORK, What.STARTED)]


def _forgiver(module: Module, work: list[Happening], delete: Happening) -> ast.ExceptHandler | None:
    """The handler of a `try` in which all the work is, and behind which the delete always comes."""
    for place, (statement, part) in enumerate(work[0].around):
        if not isinstance(statement, ast.Try) or part != "body":
            continue
        before, rest = work[0].around[:place], delete.around[place:]
        follows = delete.around[:place] == before and not any(one is statement for one, _ in rest)
        is_certain = all(isinstance(one, ast.With | ast.AsyncWith | ast.Try) and part == "body" for one, part in rest)
        if follows and is_certain and all(step.is_in(statement, "body") for step in work):
            return next((one for one in statement.handlers if _is_broad(one) and _only_tells(module, one)), None)
    return None


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in _BROAD)


def _only_tells(module: Module, handler: ast.ExceptHandler) -> bool:
    calls = [call for one in handler.body for call in calls_here(one)]
    is_plain = all(isinstance(one, ast.Pass | ast.Expr) for one in handler.body)
    return is_plain and all(
        effort_of(module, call) is Effort.NONE or last_name(call).startswith(_TELLS) for call in calls
    )
