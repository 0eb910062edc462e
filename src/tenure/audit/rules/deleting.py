"""TQ201, TQ202, TQ203, TQ205, TQ207: whether, when and how what is received is deleted."""

import ast
import itertools
import re
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.queue_calls import POPS, CallKind, QueueCall, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.trace import Happening, Trace, What, borrowing, traces
from tenure.audit.tree import FUNCTIONS, Function, last_name

_ENDS = re.compile(r"(^|_)(done|finish|complet|succe|ack|delet|remov|clean|final|settl|discard|reject|fail|end)")
_AFTER_ERRORS = {"handlers", "finalbody"}
_ENDINGS = ("delete", "xack", "settle", "complete", "remove", "finish", "purge")


def never_deleted(module: Module) -> Iterator[Hit]:
    """TQ201: only where everything that could delete is in this file."""
    if any(call.kind is CallKind.DELETE for call in queue_calls(module)) or any(map(_may_delete, module.calls)):
        return
    told: set[ast.Call] = set()
    own = ((one, [step.call for step in one.of(What.RECEIVE) if step.call is not None]) for one in traces(module))
    for trace, calls in itertools.chain(own, borrowing(module)):
        work = trace.of(What.WORK)
        if trace.hands_on or not work:
            continue
        for call in calls:
            if call.node in told or _is_peek(module, call) or call.verb in POPS or call.word("noack") is not None:
                continue
            told.add(call.node)
            verb = "acknowledges" if call.vendor == "redis" else "deletes"
            where = f"worked on in line {work[0].node.lineno}"
            yield Hit("TQ201", call.node, f"received by {call.name}, {where}, and nothing in this file {verb} it")


def _is_peek(module: Module, call: QueueCall) -> bool:
    return call.timeout is not None and module.seconds(call.timeout) == 0


def _may_delete(call: ast.Call) -> bool:
    name = last_name(call).lower()
    return any(word in name for word in _ENDINGS) or name == "ack" or name.startswith(("ack_", "_ack"))


def too_early(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ202 and TQ203."""
    for trace in traces(module):
        yield from _in_finally(trace)
        yield from _before_work(trace)


def _in_finally(trace: Trace) -> Iterator[Hit]:
    if _asks_nothing_at_its_exit(trace.function):
        for step in trace.of(What.DELETE):
            yield Hit("TQ202", step.node, "deleted at the end of the `with`, also when the work in it raised")
        return
    for step in trace.of(What.DELETE):
        for place, (statement, part) in enumerate(step.around):
            if part != "finalbody" or any(isinstance(one, ast.If | ast.Match) for one, _ in step.around[place:]):
                continue
            covered = [work for work in trace.of(What.WORK) if work.is_in(statement, "body")]
            if covered:
                text = f"deleted also when the work in line {covered[0].node.lineno} raised"
                yield Hit("TQ202", step.node, text)


def _asks_nothing_at_its_exit(function: Function | ast.Module) -> bool:
    """Whether it is the end of a `with`, and makes no difference between good ones and others."""
    if getattr(function, "name", "") not in ("__exit__", "__aexit__"):
        return False
    return not any(isinstance(one, ast.If | ast.IfExp | ast.Match | ast.BoolOp) for one in ast.walk(function))


def _before_work(trace: Trace) -> Iterator[Hit]:
    if not trace.of(What.RECEIVE) and _ENDS.search(getattr(trace.function, "name", "").lower()):
        return  # called when the work is done: what follows the delete informs others
    ordered = trace.of(What.RECEIVE, What.WORK, What.STARTED, What.DELETE)
    for place, step in enumerate(ordered):
        if step.what in (What.WORK, What.STARTED):
            return  # the work comes first
        if step.what is What.RECEIVE:
            continue
        if any(part == "finalbody" or _leaves(place, part) for place, part in step.around):
            continue
        same = itertools.takewhile(lambda one: one.what is not What.RECEIVE, ordered[place:])
        after = next((one for one in same if _is_its_work(one, step)), None)
        if after is not None:
            yield Hit("TQ203", step.node, f"deleted here, worked on in line {after.node.lineno}")
            return


def _is_its_work(step: Happening, delete: Happening) -> bool:
    """Whether the work follows the delete on the same path: in its branch, and not as the answer to an error."""
    own = {part for place, part in step.around if (place, part) not in delete.around}
    return step.what in (What.WORK, What.STARTED) and delete.choices <= step.choices and not own & _AFTER_ERRORS


def _leaves(statement: ast.AST, part: str) -> bool:
    """A branch that goes on with the next message: what it deletes is not to be worked on."""
    body: list[ast.stmt] = getattr(statement, part, []) if isinstance(statement, ast.If | ast.ExceptHandler) else []
    return bool(body) and isinstance(body[-1], ast.Continue | ast.Return | ast.Break | ast.Raise)


def popped(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ207."""
    for trace in traces(module):
        work = trace.of(What.WORK)
        for step in trace.of(What.RECEIVE):
            if step.call is not None and step.call.verb in POPS and work and _is_in_a_loop(module, step.node):
                text = f"{step.call.name} takes it away, and it is worked on in line {work[0].node.lineno}"
                yield Hit("TQ207", step.node, text)


def _is_in_a_loop(module: Module, node: ast.AST) -> bool:
    """Whether it stands in a `while` of its function, or is what the `while` asks."""
    inside = itertools.takewhile(lambda one: not isinstance(one, FUNCTIONS), module.around(node))
    return any(isinstance(one, ast.While) for one in inside)


def unread_batches(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ205."""
    for call in queue_calls(module):
        if call.kind is not CallKind.DELETE or call.vendor != "sqs":
            continue
        if call.verb not in ("delete_message_batch", "delete_messages"):
            continue
        outer = next(one for one in module.around(call.node) if not isinstance(one, ast.Await))
        if isinstance(outer, ast.Expr):
            yield Hit("TQ205", call.node, f"what {call.name} answers is thrown away, and its Failed with it")
