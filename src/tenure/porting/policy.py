"""The options of a task: what Celery's decorator and settings say, as `@app.task` takes it, with what differs."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch

import msgspec

from tenure.porting.edits import quoted
from tenure.porting.ported import Kind, Note
from tenure.porting.project import CeleryTask, Project

#: Options without an effect on what runs and how often.
_WITHOUT_EFFECT = {
    "bind", "ignore_result", "name", "pydantic", "pydantic_strict", "serializer", "store_errors_even_if_ignored",
    "track_started", "trail", "send_events", "compression", "typing", "result_serializer",
}  # fmt: skip
_TRANSLATED = {
    "acks_late", "acks_on_failure_or_timeout", "autoretry_for", "default_retry_delay", "dont_autoretry_for",
    "max_retries", "queue", "rate_limit", "reject_on_worker_lost", "retry_backoff", "retry_backoff_max", "retry_jitter",
    "retry_kwargs", "soft_time_limit", "throws", "time_limit",
}  # fmt: skip
_DEFAULT_DELAY_SECONDS, _DEFAULT_RETRIES, _BACKOFF_MAX_SECONDS = 180.0, 3, 600.0
_ALL_ERRORS = {"Exception", "BaseException"}
#: Celery's "for ever".
FOR_EVER = 1_000_000


class Policy(msgspec.Struct):
    """The options as source text, in the order of the decorator."""

    options: dict[str, str]
    notes: list[Note]
    #: Celery tries again on these alone; empty: on none by itself. Source text.
    retried: list[str]
    max_retries: int

    @property
    def decorator(self) -> str:
        """The line above the function."""
        return _decorator(self.options)

    @property
    def decorator_of_step(self) -> str:
        """The line above a step of a chain that runs this task: without its name, and without the limited queue."""
        left_out = {"name", "rate", "queue"} if "rate" in self.options else {"name"}
        return _decorator({name: value for name, value in self.options.items() if name not in left_out})

    @property
    def retries_all(self) -> bool:
        """Whether every error is tried again, as Tenure does."""
        return bool(_ALL_ERRORS.intersection(self.retried))


def _decorator(options: dict[str, str]) -> str:
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"@app.task({inside})" if inside else "@app.task"


def policy_of(task: CeleryTask, project: Project, *, asks_for_retry: bool) -> Policy:
    """Translate. `asks_for_retry`: the body calls `self.retry`."""
    policy = Policy({}, [], _classes(task, "autoretry_for"), _retries(task))
    _name(task, policy)
    _queue(task, project, policy)
    _attempts(task, policy, asks_for_retry=asks_for_retry)
    _limits(task, project, policy)
    for word in task.decorator.keywords if isinstance(task.decorator, ast.Call) else []:
        if word.arg is None:
            _say(policy, task, Kind.BY_HAND, "options come from elsewhere (`**`); add them to the decorator")
        elif word.arg not in _WITHOUT_EFFECT | _TRANSLATED:
            text = f"{word.arg}={ast.unparse(word.value)} has no equal"
            if word.arg == "base":
                text += (
                    "; what its hooks do (on_failure, on_success, before_start) is app.middleware's, or the handler's"
                )
            _say(policy, task, Kind.BY_HAND, text)
    return policy


def _say(policy: Policy, task: CeleryTask, kind: Kind, text: str) -> None:
    policy.notes.append(Note(kind, task.name, task.file.module.path, task.function.lineno, text))


def _seconds(task: CeleryTask, name: str) -> float | None:
    return task.file.module.seconds(task.option(name))


def _text(task: CeleryTask, name: str) -> str:
    value = task.option(name)
    return "" if value is None else ast.unparse(value)


def _classes(task: CeleryTask, name: str) -> list[str]:
    value = task.option(name)
    if value is None:
        return []
    return [ast.unparse(one) for one in (value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value])]


def _retries(task: CeleryTask) -> int:
    value = task.option("max_retries")
    words = task.option("retry_kwargs")
    if value is None and isinstance(words, ast.Dict):
        pairs = zip(words.keys, words.values, strict=True)
        value = next((one for key, one in pairs if isinstance(key, ast.Constant) and key.value == "max_retries"), None)
    if isinstance(value, ast.Constant) and value.value is None:
        return FOR_EVER
    seconds = task.file.module.seconds(value)
    return _DEFAULT_RETRIES if seconds is None else int(seconds)


def _name(task: CeleryTask, policy: Policy) -> None:
    given = task.file.module.constant(task.option("name"))
    if isinstance(given, str) and given != task.name:
        policy.options["name"] = quoted(given)


def _queue(task: CeleryTask, project: Project, policy: Policy) -> None:
    queue = task.file.module.constant(task.option("queue")) or _routed(task, project) or _default_queue(project)
    if isinstance(queue, str):
        name = re.sub(r"[^A-Za-z0-9._-]", "-", queue)
        policy.options["queue"] = quoted(name)
        if name != queue:
            _say(policy, task, Kind.CHECK, f"the queue {queue!r} became {name!r}: Tenure takes letters, digits, . - _")
    if task.option("rate_limit") is not None and "queue" not in policy.options:
        policy.options["queue"] = quoted(task.name)


def _default_queue(project: Project) -> str | None:
    setting = project.settings.get("task_default_queue")
    found = None if setting is None else setting.module.constant(setting.value)
    return found if isinstance(found, str) else None


def _routed(task: CeleryTask, project: Project) -> str | None:
    setting = project.settings.get("task_routes")
    if setting is None:
        return None
    for pattern, route in _routes(setting.value):
        if pattern == task.celery_name or fnmatch(task.celery_name, pattern):
            queue = route
            if isinstance(route, ast.Dict):
                pairs = zip(route.keys, route.values, strict=True)
                queue = next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "queue"), route)
            found = setting.module.constant(queue)
            return found if isinstance(found, str) else None
    return None


def _routes(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(value, ast.Tuple | ast.List):
        for one in value.elts:
            match one:
                case ast.Tuple(elts=[ast.Constant(value=str() as pattern), route]):
                    yield pattern, route
                case _:
                    yield from _routes(one)
    elif isinstance(value, ast.Dict):
        for key, route in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), route


def _attempts(task: CeleryTask, policy: Policy, *, asks_for_retry: bool) -> None:
    if not policy.retried and not asks_for_retry:
        # Celery runs it once, whatever max_retries says.
        policy.options["max_attempts"] = "1"
    else:
        policy.options["max_attempts"] = str(min(policy.max_retries + 1, FOR_EVER))
        _delays(task, policy)
        if not policy.retries_all:
            policy.options["reject_on"] = "Exception"
    thrown = [*_classes(task, "throws"), *_classes(task, "dont_autoretry_for")]
    if thrown and "reject_on" not in policy.options:
        policy.options["reject_on"] = thrown[0] if len(thrown) == 1 else f"({', '.join(thrown)})"


def _delays(task: CeleryTask, policy: Policy) -> None:
    backoff = task.option("retry_backoff")
    is_off = backoff is None or (isinstance(backoff, ast.Constant) and backoff.value is False)
    if policy.retried and not is_off:
        is_true = isinstance(backoff, ast.Constant) and backoff.value is True
        first = "1" if is_true else _text(task, "retry_backoff")
        most = _seconds(task, "retry_backoff_max") or _BACKOFF_MAX_SECONDS
        policy.options["retry_delay"] = first
        policy.options["max_retry_delay"] = f"{most:g}"
        return
    fixed = _text(task, "default_retry_delay") or f"{_DEFAULT_DELAY_SECONDS:g}"
    policy.options["retry_delay"] = policy.options["max_retry_delay"] = fixed


def _limits(task: CeleryTask, project: Project, policy: Policy) -> None:
    rate = task.file.module.constant(task.option("rate_limit"))
    if task.option("rate_limit") is not None and rate is None:
        _say(policy, task, Kind.BY_HAND, f"rate_limit={_text(task, 'rate_limit')} is known at run time only")
    elif rate is not None:
        policy.options["rate"] = quoted(_rate(rate))
        _say(
            policy, task, Kind.CHECK,
            "Celery counts rate_limit for each worker by itself, Tenure counts rate over all workers: multiply it by "
            "the number of workers if that is what you had",
        )  # fmt: skip
    hard = _text(task, "time_limit") or _of_settings(project, "task_time_limit")
    soft = _text(task, "soft_time_limit") or _of_settings(project, "task_soft_time_limit")
    if hard or soft:
        policy.options["max_hold"] = hard or soft
        policy.options["runs_in"] = '"process"'
    if soft:
        _say(
            policy, task, Kind.CHECK,
            "Tenure raises no SoftTimeLimitExceeded in the handler: at max_hold the process is ended, and the attempt "
            "has failed. What must be cleaned up belongs to the next run",
        )  # fmt: skip


def _rate(rate: float | str) -> str:
    """`10`, `"10"` and `"10/m"` of Celery, as Tenure reads a rate."""
    text = f"{rate:g}" if isinstance(rate, float) else rate.strip()
    return text if "/" in text else f"{text}/s"


def _of_settings(project: Project, name: str) -> str:
    setting = project.settings.get(name)
    found = None if setting is None else setting.module.seconds(setting.value)
    return "" if found is None else f"{found:g}"


def is_acked_early(task: CeleryTask, project: Project) -> bool:
    """Whether Celery acknowledges it before it runs."""
    setting = project.settings.get("task_acks_late")
    is_late = setting is not None and isinstance(setting.value, ast.Constant) and setting.value.value is True
    own = task.option("acks_late")
    if isinstance(own, ast.Constant):
        is_late = own.value is True
    return not is_late
