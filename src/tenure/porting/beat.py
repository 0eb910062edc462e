"""Celery's beat: `beat_schedule` and `add_periodic_task`, as `app.schedule` takes them."""

import ast
import re
from collections.abc import Iterator
from typing import NoReturn

import msgspec

from tenure.audit.module import Module
from tenure.audit.tree import last_name
from tenure.porting.edits import quoted
from tenure.porting.ported import Kind, Note
from tenure.porting.project import CeleryTask, File, Project

_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_DAYS = r"\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_MONTHS = r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"


class PortedSchedule(msgspec.Struct, frozen=True):
    """One `app.schedule(…)`, or why there is none."""

    name: str
    text: str
    notes: tuple[Note, ...] = ()


class _Refused(Exception):
    """It has no equal; the text says why."""


def _refused(why: str) -> NoReturn:
    raise _Refused(why)


def schedules_of(project: Project) -> Iterator[PortedSchedule]:
    """Translate every schedule."""
    setting = project.settings.get("beat_schedule")
    zone = project.settings.get("timezone")
    found = None if zone is None else zone.module.constant(zone.value)
    timezone = found if isinstance(found, str) else "UTC"
    if setting is not None:
        if isinstance(setting.value, ast.Dict):
            for key, entry in zip(setting.value.keys, setting.value.values, strict=True):
                name = setting.module.constant(key) if key is not None else None
                yield _entry(str(name), entry, setting.module, project, timezone)
        else:
            note = _note(setting.module, setting.value, "beat_schedule", "it is not written out as a dict")
            yield PortedSchedule("beat_schedule", "", (note,))
    for file in project.files:
        for call in file.module.calls:
            if last_name(call) == "add_periodic_task" and len(call.args) > 1:
                yield _periodic(call, file, project, timezone)


def _entry(name: str, entry: ast.expr, module: Module, project: Project, timezone: str) -> PortedSchedule:
    try:
        if not isinstance(entry, ast.Dict):
            _refused("its entry is not written out as a dict")
        words = {str(module.constant(key)): value for key, value in zip(entry.keys, entry.values, strict=True) if key}
        called = module.constant(words.get("task"))
        task = _by_name(project, called, words.get("task"))
        when = _when(words.get("schedule"), module, timezone)
        bound = [*_list(words.get("args")), *_dict(words.get("kwargs"))]
        options, notes = _options(words.get("options"), module, name)
        _check(task, bound)
        return PortedSchedule(name, _text(task, bound, when, name, options), tuple(notes))
    except _Refused as why:
        return PortedSchedule(name, "", (_note(module, entry, name, str(why)),))


def _periodic(call: ast.Call, file: File, project: Project, timezone: str) -> PortedSchedule:
    words = {word.arg: word.value for word in call.keywords}
    signature = call.args[1]
    given = file.module.constant(words.get("name"))
    name = given if isinstance(given, str) else f"line {call.lineno}"
    try:
        is_signature = isinstance(signature, ast.Call) and isinstance(signature.func, ast.Attribute)
        if not isinstance(signature, ast.Call) or not is_signature or last_name(signature) not in ("s", "si"):
            _refused("what it sends is no signature of a task of these files")
        assert isinstance(signature.func, ast.Attribute)  # noqa: S101
        task = project.task_of(file, signature.func.value)
        if task is None:
            _refused(f"{ast.unparse(signature.func.value)} is no task of these files")
        bound = [ast.unparse(one) for one in signature.args]
        bound += [f"{word.arg}={ast.unparse(word.value)}" for word in signature.keywords]
        if not isinstance(given, str):
            name = f"{task.name}-{call.lineno}"
        _check(task, bound)
        return PortedSchedule(name, _text(task, bound, _when(call.args[0], file.module, timezone), name, ""))
    except _Refused as why:
        return PortedSchedule(name, "", (_note(file.module, call, name, str(why)),))


def _text(task: CeleryTask, bound: list[str], when: str, name: str, options: str) -> str:
    return f"app.schedule({task.name}.bind({', '.join(bound)}), {when}, name={quoted(name)}{options})"


def _check(task: CeleryTask, bound: list[str]) -> None:
    """Refuse what the task could not take: `bind` would, when the module is imported."""
    taken = task.function.args
    given = [one.arg for one in (*taken.posonlyargs, *taken.args)][1 if task.is_on("bind") else 0 :]
    named = {one.partition("=")[0] for one in bound if one.partition("=")[0].isidentifier() and "=" in one}
    if any(one.startswith("*") for one in bound) or taken.vararg or taken.kwarg:
        return
    missing = [name for name in given[len(bound) - len(named) : len(given) - len(taken.defaults)] if name not in named]
    if missing:
        _refused(f"it gives no {', '.join(missing)}, which {task.name} needs")
    if len(bound) - len(named) > len(given):
        _refused(f"it gives more arguments than {task.name} takes")


def _by_name(project: Project, called: object, node: ast.expr | None) -> CeleryTask:
    for task in project.tasks.values():
        if called == task.celery_name or (isinstance(called, str) and called.rpartition(".")[2] == task.name):
            return task
        if isinstance(node, ast.Attribute) and node.attr == "name" and ast.unparse(node.value).endswith(task.name):
            return task
    _refused(f"its task {called!r} is none of these files")


def _when(node: ast.expr | None, module: Module, timezone: str) -> str:
    seconds = module.seconds(node)
    if isinstance(node, ast.Call):
        full = (module.full(node.func) or "").rpartition(".")[2]
        if full == "crontab":
            return f'cron="{_cron(node, module)}", timezone="{timezone}"'
        if full in ("timedelta", "schedule"):
            inner = node.args[0] if full == "schedule" and node.args else node
            inner = next((word.value for word in node.keywords if word.arg == "run_every"), inner)
            if inner is not node:
                return _when(inner, module, timezone)
            names = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
            words = [*zip(names, node.args, strict=False), *((word.arg, word.value) for word in node.keywords)]
            factors = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
            parts = [(factors.get(str(name)), module.seconds(value)) for name, value in words]
            known = [factor * value for factor, value in parts if factor is not None and value is not None]
            seconds = sum(known) if len(known) == len(parts) else None
        elif full == "solar":
            _refused("solar() has no equal: choose a time of day, or submit from a task of your own")
    if seconds is None:
        _refused(f"its schedule {ast.unparse(node) if node else 'is missing'} is known at run time only")
    if seconds < 1:
        _refused(f"every {seconds:g} s: the shortest interval is one second")
    return f"every={seconds:.12g}"


def _cron(node: ast.Call, module: Module) -> str:
    given = dict(zip(_FIELDS[:2], node.args, strict=False))
    given |= {str(word.arg): word.value for word in node.keywords}
    fields = []
    for name in _FIELDS:
        value = given.get(name)
        text = "*" if value is None else _field(value, module, name)
        fields.append(text)
    if fields[2] != "*" and fields[4] != "*" and not fields[2].startswith("*") and not fields[4].startswith("*"):
        _refused("day_of_month with day_of_week: Celery asks for both, cron for one of them; check in the handler")
    return " ".join(fields)


def _field(value: ast.expr, module: Module, name: str) -> str:
    if isinstance(value, ast.Set | ast.List | ast.Tuple):
        parts = [module.constant(one) for one in value.elts]
    else:
        parts = [module.constant(value)]
    if None in parts:
        _refused(f"{name}={ast.unparse(value)} is known at run time only")
    text = ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in parts).replace(" ", "")
    pattern = _DAYS if name == "day_of_week" else _MONTHS
    return re.sub(pattern, lambda found: found[1].upper(), text.lower())


def _list(node: ast.expr | None) -> list[str]:
    if node is None:
        return []
    return (
        [ast.unparse(one) for one in node.elts] if isinstance(node, ast.Tuple | ast.List) else [f"*{ast.unparse(node)}"]
    )


def _dict(node: ast.expr | None) -> list[str]:
    if not isinstance(node, ast.Dict):
        return [] if node is None else [f"**{ast.unparse(node)}"]
    pairs = zip(node.keys, node.values, strict=True)
    return [f"{key.value!s}={ast.unparse(value)}" for key, value in pairs if isinstance(key, ast.Constant)]


def _options(node: ast.expr | None, module: Module, name: str) -> tuple[str, list[Note]]:
    if node is None:
        return "", []
    if not isinstance(node, ast.Dict):
        _refused("its options are not written out as a dict")
    taken, notes = "", []
    for key, value in zip(node.keys, node.values, strict=True):
        word = module.constant(key)
        if word in ("queue", "expires"):
            taken += f", {word}={ast.unparse(value)}"
        elif word == "priority":
            taken += f", priority={ast.unparse(value)}"
            notes.append(_note(module, value, name, "priority: on Redis Celery runs 0 first, Tenure 9", Kind.CHECK))
        else:
            notes.append(_note(module, value, name, f"its option {word} has no equal"))
    return taken, notes


def _note(module: Module, node: ast.expr, about: str, text: str, kind: Kind = Kind.BY_HAND) -> Note:
    return Note(kind, about, module.path, node.lineno, text)
