"""TQ208: work is given to a thread, a pool or a task, and the message deleted before it is done.

Only where nothing waits for the work in between: no `result()`, `join()`, `await` or `with` of a pool. A queue that
keeps what it is given (`task.delay(…)`) is another matter, and so is a callback that deletes.
"""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.trace import Happening, Trace, What, traces
from tenure.audit.tree import dotted, last_name, walk_here

#: They begin work beside this function, in this process.
_BESIDE = frozenset(
    """
    create_task ensure_future submit spawn spawn_n start_soon Thread Process run_coroutine_threadsafe
    run_in_executor call_soon call_soon_threadsafe add_task start_new_thread
    """.split()  # noqa: SIM905 - read as words
)
_WAITS = frozenset({"result", "join", "wait", "gather", "as_completed", "wait_for", "shutdown", "exception", "joinall"})
_OF_STARTS = frozenset({"start", "add_done_callback", "set_name"})
_AROUND = (ast.With, ast.AsyncWith)


def handed_off(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ208."""
    for trace in traces(module):
        for delete in trace.of(What.DELETE):
            start = _start_before(module, trace, delete)
            if start is not None:
                text = f"{last_name(start.node)} in line {start.node.lineno} begins the work, and nothing waits for it"
                yield Hit("TQ208", delete.node, text)


def _start_before(module: Module, trace: Trace, delete: Happening) -> Happening | None:
    """What began the work of this message and is not waited for. None: there is none, or some work was done here."""
    steps = trace.steps[: trace.steps.index(delete)]
    begun = max((place for place, one in enumerate(steps) if one.what in (What.RECEIVE, What.DELETE)), default=-1)
    work = [one for one in steps[begun + 1 :] if one.what in (What.WORK, What.STARTED) and not _is_part(module, one)]
    if not work or not all(_is_beside(one.node) for one in work):
        return None
    start = work[-1]
    is_on_the_way = start.choices <= delete.choices
    return start if is_on_the_way and not _is_waited_for(module, trace, start, delete) else None


def _is_beside(call: ast.Call) -> bool:
    name = last_name(call)
    is_pool = "pool" in (dotted(call.func) or "").lower()
    return name in _BESIDE or (name == "apply_async" and is_pool)


def _is_part(module: Module, step: Happening) -> bool:
    """Whether it is only what a start is given: `render(body)` in `create_task(render(body))`, or `thread.start()`."""
    outer = (one for one in _expression_around(module, step.node) if isinstance(one, ast.Call))
    return last_name(step.node) in _OF_STARTS or any(map(_is_beside, outer))


def _is_waited_for(module: Module, trace: Trace, start: Happening, delete: Happening) -> bool:
    if any(isinstance(one, ast.Await | ast.Yield | ast.YieldFrom) for one in _expression_around(module, start.node)):
        return True
    if any(isinstance(one, _AROUND) and (one, part) not in delete.around for one, part in start.around):
        return True  # the end of the `with` waits
    between = [
        one
        for statement in trace.function.body
        for one in walk_here(statement)
        if start.node.lineno <= getattr(one, "lineno", 0) <= delete.node.lineno
    ]
    named = _names_given(module, start.node)
    return any(
        (isinstance(one, ast.Call) and (last_name(one) in _WAITS or _is_bare_get(one)))
        or (isinstance(one, ast.Await) and isinstance(one.value, ast.Name) and one.value.id in named)
        for one in between
    )


def _expression_around(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    for one in module.around(node):
        if isinstance(one, ast.stmt):
            return
        yield one


def _names_given(module: Module, node: ast.AST) -> set[str]:
    """The names that the started work is kept under."""
    statement = next(one for one in module.around(node) if isinstance(one, ast.stmt))
    return {
        one.id for target in getattr(statement, "targets", []) for one in ast.walk(target) if isinstance(one, ast.Name)
    }


def _is_bare_get(call: ast.Call) -> bool:
    """`answer.get()` and `answer.get(timeout=60)` wait; `message.get("Body")` does not."""
    return last_name(call) == "get" and not call.args and all(one.arg == "timeout" for one in call.keywords)
