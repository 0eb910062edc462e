"""TQ801 to TQ804: settings of Celery that lose work, or run it twice.

Only of files that make the app and show all its settings. A file that reads them from elsewhere (`config_from_object`)
is not guessed about.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.tree import Function, dotted, last_name

_FROM_ELSEWHERE = {"config_from_object", "config_from_envvar", "config_from_cmdline"}
_LOST = "task_reject_on_worker_lost"
#: Seconds after which a broker without acks of its own hands a task out again, unless it is set.
_DEFAULT_VISIBILITY = {"redis": 3600.0, "rediss": 3600.0, "sqs": 1800.0}


class CelerySettings(NamedTuple):
    """What a file says about its app."""

    module: Module
    app: ast.Call
    #: By their new names, each with where it stands.
    found: dict[str, ast.expr]
    #: There may be more that cannot be seen from here.
    is_open: bool

    def is_on(self, name: str) -> bool:
        """Whether a setting is True here."""
        value = self.found.get(name)
        return isinstance(value, ast.Constant) and value.value is True


def celery_settings(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ801 to TQ804."""
    settings = settings_of(module)
    if settings is None:
        return
    tasks = [
        (function, call) for function in module.functions if (call := task_decorator(module, function)) is not None
    ]
    yield from _visibility(module, settings, tasks)
    if settings.is_open:
        return
    yield from _half_late(settings, tasks)
    late = settings.found.get("task_acks_late")
    if late is None or _is_false(late):
        early = [function.name for function, call in tasks if not _says(call, "acks_late")]
        if early or not tasks:
            text = f"tasks are acknowledged before they run{f', as {early[0]}' if early else ''}"
            yield Hit("TQ801", settings.app, text)


def _half_late(settings: CelerySettings, tasks: list[tuple[Function, ast.expr]]) -> Iterator[Hit]:
    """TQ803 and TQ804: late acks without what belongs to them."""
    where = settings.found["task_acks_late"] if settings.is_on("task_acks_late") else None
    if where is not None:
        prefetch = settings.found.get("worker_prefetch_multiplier")
        if prefetch is None or (settings.module.seconds(prefetch) or 0.0) > 1.0:
            many = "4 by default" if prefetch is None else f"{settings.module.seconds(prefetch):g}"
            yield Hit("TQ803", where, f"task_acks_late, and each process takes {many} tasks ahead")
    if settings.is_on(_LOST):
        return
    if where is not None:
        yield Hit("TQ804", where, "task_acks_late without task_reject_on_worker_lost")
        return
    for function, call in tasks:
        if _is_true(_keyword(call, "acks_late")) and _keyword(call, "reject_on_worker_lost") is None:
            yield Hit("TQ804", call, f"{function.name} says acks_late without reject_on_worker_lost")


@lru_cache(maxsize=8)
def settings_of(module: Module) -> CelerySettings | None:
    """What a file says about the app that it makes. None: it makes none."""
    if not module.imports_any("celery"):
        return None
    app = next(
        (call for call in module.calls if (module.full(call.func) or "") in ("celery.Celery", "celery.app.Celery")),
        None,
    )
    if app is None:
        return None
    found: dict[str, ast.expr] = {str(one.arg): one.value for one in app.keywords if one.arg}
    is_open = "config_source" in found or any(one.arg is None for one in app.keywords)
    for call in module.calls:
        name = last_name(call)
        is_open = is_open or name in _FROM_ELSEWHERE
        if name == "update" and (dotted(call.func) or "").endswith(".conf.update"):
            given = call.args[0] if len(call.args) == 1 else None
            found |= {str(one.arg): one.value for one in call.keywords if one.arg}
            found |= _items(given)
            is_open = is_open or any(one.arg is None for one in call.keywords) or not _is_plain(given)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if not isinstance(target, ast.Attribute | ast.Subscript):
                continue
            if (dotted(target.value) or "").endswith(".conf"):
                named = target.attr if isinstance(target, ast.Attribute) else str(module.constant(target.slice))
                found[named] = node.value
    return CelerySettings(module, app, found, is_open)


def _items(node: ast.expr | None) -> dict[str, ast.expr]:
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else []
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _is_plain(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys))


def task_decorator(module: Module, function: Function) -> ast.expr | None:
    """The decorator that makes a function a task of Celery. None: it is none."""
    for one in function.decorator_list:
        name = dotted(one.func if isinstance(one, ast.Call) else one) or ""
        if name.endswith(".task") or module.imports.get(name) == "celery.shared_task":
            return one
    return None


def _says(decorator: ast.expr, name: str) -> bool:
    return _keyword(decorator, name) is not None and not _is_false(_keyword(decorator, name))


def _keyword(call: ast.expr, name: str) -> ast.expr | None:
    words = call.keywords if isinstance(call, ast.Call) else []
    return next((one.value for one in words if one.arg == name), None)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _visibility(module: Module, settings: CelerySettings, tasks: list[tuple[Function, ast.expr]]) -> Iterator[Hit]:
    """TQ802: tasks that wait or run for longer than the broker waits for their ack."""
    visibility = _visibility_seconds(module, settings)
    if visibility is None:
        return
    for call in module.calls:
        waits = module.seconds(_keyword(call, "countdown")) if last_name(call) == "apply_async" else None
        if waits is not None and waits >= visibility:
            yield Hit(
                "TQ802",
                call,
                f"a countdown of {waits:g} s, and the broker hands the task out again after {visibility:g} s",
            )
    for _function, decorator in tasks:
        limit = module.seconds(_keyword(decorator, "time_limit"))
        is_late = settings.is_on("task_acks_late") or _says(decorator, "acks_late")
        if limit is not None and limit >= visibility and is_late:
            text = f"may run for {limit:g} s, and the broker hands it out again after {visibility:g} s"
            yield Hit("TQ802", decorator, text)


def _visibility_seconds(module: Module, settings: CelerySettings) -> float | None:
    """Seconds after which the broker hands a task out again. None: it does not, or it is not known."""
    options = settings.found.get("broker_transport_options")
    if options is not None:
        return module.seconds(_items(options).get("visibility_timeout")) if _is_plain(options) else None
    url = module.constant(settings.found.get("broker") or settings.found.get("broker_url"))
    return None if settings.is_open or not isinstance(url, str) else _DEFAULT_VISIBILITY.get(url.partition(":")[0])
