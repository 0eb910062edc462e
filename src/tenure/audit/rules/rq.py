"""TQ805 and TQ812 to TQ815: settings of RQ by which a job is gone, or never runs, or never ends."""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.tree import last_name

_LATER = {"enqueue_in", "enqueue_at"}
_SENDS = {"enqueue", "enqueue_call", *_LATER}
_RQ = {*_SENDS, "create", "job", "prepare_data"}


def rq_settings(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ805 and TQ812 to TQ815."""
    if not module.imports_any("rq"):
        return
    calls = [call for call in module.calls if last_name(call) in _RQ and _is_of_rq(module, call)]
    for call in calls:
        name = last_name(call)
        if _seconds(module, call, "failure_ttl") == 0:
            yield Hit("TQ805", call, f"{name} is given failure_ttl=0")
        kept = _seconds(module, call, "ttl")
        if kept is not None and kept > 0:
            yield Hit("TQ814", call, f"{name} is given ttl={kept:g}: a job that waited for {kept:g} s is deleted")
        limit = _seconds(module, call, "timeout" if name == "enqueue_call" else "job_timeout")
        if limit is not None and limit < 0:
            yield Hit("TQ815", call, f"{name} is given a timeout of {limit:g}: none")
    yield from _never_retried(calls)
    yield from _never_scheduled(module, calls)


def _is_of_rq(module: Module, call: ast.Call) -> bool:
    """Whether it is RQ's: `queue.enqueue`, `@job`, `Job.create`; not another `create`."""
    full = module.full(call.func) or ""
    if last_name(call) in ("create", "job"):
        return full.startswith("rq.")
    return isinstance(call.func, ast.Attribute)


def _word(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _seconds(module: Module, call: ast.Call, name: str) -> float | None:
    node = _word(call, name)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = module.seconds(node.operand)
        return None if inner is None else -inner
    return module.seconds(node)


def _never_retried(calls: list[ast.Call]) -> Iterator[Hit]:
    """TQ812: once a file, and only where no call of it asks for retries."""
    sends = [call for call in calls if last_name(call) in _SENDS or last_name(call) == "job"]
    may = any(_word(call, "retry") is not None or any(one.arg is None for one in call.keywords) for call in sends)
    if sends and not may:
        yield Hit("TQ812", sends[0], f"{last_name(sends[0])} is given no retry")


def _never_scheduled(module: Module, calls: list[ast.Call]) -> Iterator[Hit]:
    """TQ813: of files that send for later and start the worker too."""
    later = [call for call in calls if last_name(call) in _LATER or _waits(module, _word(call, "retry"))]
    workers = [call for call in module.calls if last_name(call) == "work" and _is_worker(module, call)]
    if not later or not workers or any("scheduler" in name.lower() for name in module.imports.values()):
        return
    if all(_is_off(_word(call, "with_scheduler")) and all(one.arg for one in call.keywords) for call in workers):
        yield Hit("TQ813", later[0], f"the worker of line {workers[0].lineno} runs without its scheduler")


def _is_worker(module: Module, call: ast.Call) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = owner if isinstance(owner, ast.Call) else None
    if owner is not None and made is None:
        bound = module.bound(owner)
        made = bound[0] if len(bound) == 1 and isinstance(bound[0], ast.Call) else None
    full = "" if made is None else module.full(made.func) or ""
    return full.startswith("rq.") and full.endswith("Worker")


def _is_off(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is False)


def _waits(module: Module, retry: ast.expr | None) -> bool:
    """Whether retries have an interval: then they are scheduled."""
    if not isinstance(retry, ast.Call):
        return False
    given = _word(retry, "interval")
    if isinstance(given, ast.List | ast.Tuple):
        return any((module.seconds(one) or 0) > 0 for one in given.elts)
    return (module.seconds(given) or 0) > 0
