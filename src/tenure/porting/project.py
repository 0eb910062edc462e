"""A Celery project, read: its apps, tasks and settings over all files. Nothing is rewritten here.

Which names are apps is asked of every file first, because tasks are mostly in other files than the app.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tenure.audit.module import Module
from tenure.audit.rules.celery import settings_of
from tenure.audit.source import Unreadable, python_files, read, without_tests
from tenure.audit.tree import Function, dotted
from tenure.porting.edits import Source
from tenure.porting.ported import NotPortable

_APPS = ("celery.Celery", "celery.app.Celery")
_OLD = {
    "BROKER_URL": "broker_url", "CELERYBEAT_SCHEDULE": "beat_schedule", "CELERY_ROUTES": "task_routes",
    "CELERY_ACKS_LATE": "task_acks_late", "CELERYD_TASK_TIME_LIMIT": "task_time_limit",
    "CELERYD_TASK_SOFT_TIME_LIMIT": "task_soft_time_limit", "CELERY_DEFAULT_QUEUE": "task_default_queue",
}  # fmt: skip
_SETTINGS = {
    "beat_schedule", "broker_url", "task_acks_late", "task_annotations", "task_default_queue", "task_routes",
    "task_soft_time_limit", "task_time_limit", "timezone",
}  # fmt: skip


class Setting(msgspec.Struct, frozen=True):
    """A setting where it was said."""

    module: Module
    value: ast.expr


class CeleryTask(msgspec.Struct, frozen=True):
    """A function that is a task."""

    file: "File"
    function: Function
    decorator: ast.expr

    @property
    def name(self) -> str:
        """The function's name: what it is called by in the port."""
        return self.function.name

    def option(self, name: str) -> ast.expr | None:
        """What the decorator says. None: nothing."""
        words = self.decorator.keywords if isinstance(self.decorator, ast.Call) else []
        return next((one.value for one in words if one.arg == name), None)

    def is_on(self, name: str) -> bool:
        """Whether the decorator says True."""
        value = self.option(name)
        return isinstance(value, ast.Constant) and value.value is True

    @property
    def celery_name(self) -> str:
        """The name that its messages carry, as far as the path of the file tells it."""
        given = self.file.module.constant(self.option("name"))
        return given if isinstance(given, str) else f"{self.file.dotted}.{self.name}"


class File(msgspec.Struct, frozen=True, eq=False):
    """One file with its tree, its text and its dotted name below the folder that was named."""

    module: Module
    source: Source
    dotted: str


class Project(msgspec.Struct, frozen=True):
    """Everything that the port needs of the source."""

    files: list[File]
    #: By the name of the function.
    tasks: dict[str, CeleryTask]
    settings: dict[str, Setting]
    #: `class X(Task): def run(self)`: with their files.
    classes: list[tuple[File, ast.ClassDef]]

    def task_of(self, file: File, node: ast.expr) -> CeleryTask | None:
        """The task that a name means here: `send`, `tasks.send`, or what it was imported as."""
        full = file.module.full(node)
        if full is None:
            return None
        first, _, last = full.rpartition(".")
        task = self.tasks.get(last)
        if task is None or (not first and task.file is not file):
            return None
        return task


def project_of(paths: Sequence[str]) -> Project:
    """Read files and folders. Raises `NotPortable`."""
    files = [_file(path, paths) for path in without_tests(python_files(paths), paths)]
    apps = {name for file in files for name in _apps_of(file.module)}
    tasks: dict[str, CeleryTask] = {}
    for file in files:
        for function in file.module.functions:
            decorator = _task_decorator(file.module, function, apps)
            if decorator is None or not isinstance(file.module.parents.get(function), ast.Module):
                continue
            task = CeleryTask(file, function, decorator)
            if function.name in tasks:
                other = tasks[function.name]
                raise NotPortable(
                    f"two tasks are named {function.name}: {other.file.module.path}:{other.function.lineno} and "
                    f"{file.module.path}:{function.lineno}. One module cannot have both; name the files one at a time"
                )
            tasks[function.name] = task
    settings = {name: one for file in files for name, one in _settings_in(file.module)}
    classes = [(file, one) for file in files for one in file.module.classes.values() if one and _is_task(file, one)]
    return Project(files, tasks, settings, classes)


def _file(path: str, named: Sequence[str]) -> File:
    try:
        raw = read(path)
        tree = ast.parse(raw, path)
    except Unreadable as error:
        raise NotPortable(f"{path} cannot be read: {error}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotPortable(f"{path} does not parse: {error}") from error
    return File(Module(path, tree), Source(raw), _dotted(Path(path), [Path(one) for one in named]))


def _dotted(path: Path, named: Sequence[Path]) -> str:
    """The module's name: from the first folder upwards that is no package, or below what was named."""
    parts = [path.stem] if path.stem != "__init__" else []
    folder = path.parent
    while (folder / "__init__.py").exists() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) <= 1:  # no package by its files: below the folder that was named
        inside = next((one for one in named if one.is_dir() and path.is_relative_to(one)), None)
        if inside is not None:
            parts = [*path.relative_to(inside).parent.parts, *parts]
    return ".".join(parts)


def _apps_of(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(value, ast.Call) and module.full(value.func) in _APPS:
            yield from (name for target in node.targets if (name := dotted(target)) is not None)


def _task_decorator(module: Module, function: Function, apps: set[str]) -> ast.expr | None:
    for one in function.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        full, name = module.full(called) or "", dotted(called) or ""
        if full in ("celery.shared_task", "celery.task", "celery.task.task", "celery.current_app.task"):
            return one
        owner = full.rpartition(".")[0]
        is_app = owner in apps or owner.rpartition(".")[2] in apps
        if name.endswith(".task") and is_app and (owner in apps or "." in owner):
            return one
    return None


def _is_task(file: File, one: ast.ClassDef) -> bool:
    bases = [file.module.full(base) or "" for base in one.bases]
    has_run = any(isinstance(part, ast.FunctionDef) and part.name == "run" for part in one.body)
    return has_run and any(base in ("celery.Task", "celery.app.task.Task") or base.endswith(".Task") for base in bases)


def _settings_in(module: Module) -> Iterator[tuple[str, Setting]]:
    found = settings_of(module)
    if found is not None:
        for name, value in found.found.items():
            yield {"broker": "broker_url"}.get(name, name), Setting(module, value)
    for node in module.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            name = target.id if isinstance(target, ast.Name) else ""
            setting = _OLD.get(name) or name.removeprefix("CELERY_").lower()
            is_file_of_settings = "celery" in Path(module.path).stem and name in _SETTINGS
            if setting in _SETTINGS and (name.startswith("CELERY_") or name in _OLD or is_file_of_settings):
                yield setting, Setting(module, node.value)
