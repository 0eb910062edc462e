"""How a child process finds the task that its parent found.

A child shares no memory with its parent, so the parent sends the import path of the app (`Locator`), and the child
imports it (`Finder`). A script that was started as `__main__` is loaded under the name `__mp_main__`, as
`multiprocessing` does, so that its `if __name__ == "__main__":` does not run again.

`locate` and `locate_task` are called in the parent; the locator goes to the child with each job.
"""

import importlib
import inspect
import operator
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import msgspec

from tenure.errors import ConfigurationError
from tenure.tasks.task import Task

MAIN = "__main__"
#: What `multiprocessing` calls a main script in a child; people's guards know it.
CHILD_MAIN = "__mp_main__"


class Locator(msgspec.Struct, frozen=True):
    """The import path of an app or a task."""

    #: For `import`; ignored where there is a path.
    module: str
    #: The file of a main script. None: the module can be imported.
    path: str | None = None
    #: Name in the module of the app, of the task, or of a function that makes the app. None: look at everything in it.
    attribute: str | None = None

    def __str__(self) -> str:
        """Show it as people write it: `jobs:app`."""
        place = self.path or self.module
        return place if self.attribute is None else f"{place}:{self.attribute}"


def locate(app_reference: str) -> Locator:
    """The locator for `module:attribute`, or for `module` alone."""
    module, colon, attribute = app_reference.partition(":")
    named = [*module.split("."), *(attribute.split(".") if colon else ())]
    if not all(part.isidentifier() for part in named):
        msg = f"{app_reference!r} names no app; write module:attribute, as in jobs:app; nothing was started"
        raise ConfigurationError(msg)
    return Locator(module, attribute=attribute or None)


def locate_task(task: Task[..., Any]) -> Locator:
    """Locate a task for a child: in its function's module, else in any that holds it or its app."""
    home = task.function.__module__
    for name in (home, *(name for name in list(sys.modules) if name != home)):
        attribute = _attribute_of(sys.modules.get(name), task)
        if attribute is not None:
            return _in_main(task.name, attribute) if name == MAIN else Locator(name, attribute=attribute)
    msg = (
        f"task {task.name} cannot run in a child process: no module has it or its app as an attribute. "
        "Make the app at the top of a module, not inside a function; nothing was started"
    )
    raise ConfigurationError(msg)


def _in_main(task: str, attribute: str) -> Locator:
    main = sys.modules[MAIN]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != MAIN:  # python -m jobs: it can be imported like any module
        return Locator(spec.name, attribute=attribute)
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        msg = (
            f"task {task} cannot run in a child process: it was defined where no file can be loaded again "
            "(an interactive session, or a zip archive). Put it into a module; nothing was started"
        )
        raise ConfigurationError(msg)
    return Locator(MAIN, str(Path(file).resolve()), attribute)


def _attribute_of(module: ModuleType | None, task: Task[..., Any]) -> str | None:
    for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
        if _held_by(value, task.name) is task:
            return name
    return None


def _held_by(value: Any, name: str) -> Task[..., Any] | None:
    """The task of that name if `value` is it, or is an app that has it."""
    if isinstance(value, Task):
        return value if value.name == name else None
    # Statically first: modules are full of objects that do strange things when asked for an attribute.
    if isinstance(value, type) or inspect.getattr_static(value, "tasks", None) is None:
        return None
    tasks = value.tasks
    task = tasks.get(name) if isinstance(tasks, dict) else None
    return task if isinstance(task, Task) else None


def refuse_while_loading() -> None:
    """Raise if this is a child that just imports the app: a worker there would start workers without end."""
    if Finder.is_loading:
        msg = (
            "a worker was started while a child process imported this module. "
            'Start it under `if __name__ == "__main__":`, which a child does not run'
        )
        raise ConfigurationError(msg)


class Finder:
    """Imports what locators name, once each, and finds tasks in it. Lives in the child."""

    is_loading: ClassVar[bool] = False

    def __init__(self) -> None:
        """Start without loaded modules."""
        self._loaded: dict[str, ModuleType] = {}
        self._made: dict[str, object] = {}

    def find(self, locator: Locator, name: str) -> Task[..., Any]:
        """Find the task; raises `ConfigurationError`, or whatever error the import raises."""
        module = self._load(locator)
        candidates = list(vars(module).values())
        if locator.attribute is not None:
            candidates.insert(0, self._named(module, locator))
        for value in candidates:
            task = _held_by(value, name)
            if task is not None:
                return task
        msg = (
            f"no task named {name} is in {locator} once a child process has imported it. "
            'Define app and tasks at the top of the module, not under `if __name__ == "__main__":`, '
            "and import the modules that register tasks there"
        )
        raise ConfigurationError(msg)

    def _named(self, module: ModuleType, locator: Locator) -> object:
        """Return the value of the locator's attribute. A function is called once: it makes the app."""
        value = _attribute(module, locator.attribute or "")
        if not inspect.isfunction(value):
            return value
        made = str(locator)
        if made not in self._made:
            self._made[made] = value()
        return self._made[made]

    def _load(self, locator: Locator) -> ModuleType:
        place = locator.path or locator.module
        if place not in self._loaded:
            Finder.is_loading = True
            try:
                self._loaded[place] = _run_main(place) if locator.path else importlib.import_module(place)
            finally:
                Finder.is_loading = False
        return self._loaded[place]


def _attribute(module: ModuleType, path: str) -> object:
    try:
        return operator.attrgetter(path)(module)
    except AttributeError:
        return None  # it may stand there under another name; if not, the sentence above says what to do


def _run_main(path: str) -> ModuleType:
    """A main script as a module, the way `multiprocessing` loads it."""
    module = ModuleType(CHILD_MAIN)
    vars(module).update(runpy.run_path(path, run_name=CHILD_MAIN))
    sys.modules[MAIN] = sys.modules[CHILD_MAIN] = module
    return module
