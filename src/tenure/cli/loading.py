"""Importing the user's app by its name, with an error for each of the ways this fails in practice."""

import difflib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tenure.app import Tenure
from tenure.cli.failing import BadTarget, ImportFailed
from tenure.errors import TenureError
from tenure.tasks.task import Task
from tenure.url_options import DATABASES, safe_url, with_slashes

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def load(reference: str) -> Tenure:
    """The app behind `module:attribute`, where the attribute is the app or a function that makes it."""
    if not _is_reference(reference):
        hint = ""
        if ":/" in reference:
            hint = f"; did you mean {safe_url(with_slashes(reference))}?"
        elif reference.endswith(DATABASES):
            hint = f"; did you mean sqlite:///{reference}?"
        elif reference.strip(":").replace(".", "").isidentifier():
            hint = f"; did you mean {reference.strip(':')}:app?"
        elif "AccountName=" in reference or "SharedAccessSignature=" in reference:
            hint = "; a connection string goes into AZURE_STORAGE_CONNECTION_STRING, and azure://account is the URL"
        shown = "…" if "@" in reference else safe_url(reference)  # a password in what is no URL is not found
        msg = f"{shown!r} is neither module:attribute (jobs:app) nor a URL (sqlite:///jobs.db){hint}"
        raise BadTarget(msg)
    found, module, path = _attribute(reference)
    if inspect.isfunction(found) and not inspect.iscoroutinefunction(found):
        found = _made(reference, found)
    if not isinstance(found, Tenure):
        kind = "Task" if isinstance(found, Task) else type(found).__name__
        msg = f"{reference} is a {kind}, not a Tenure app{_near(path, module)}"
        raise BadTarget(msg)
    return found


def load_function(reference: str) -> Callable[..., Any]:
    """The function behind `module:function`."""
    if not _is_reference(reference):
        raise BadTarget(f"{reference!r} names no function; write module:function, as in auth:authenticate")
    found, _, _ = _attribute(reference)
    if not callable(found):
        raise BadTarget(f"{reference} is a {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def _is_reference(reference: str) -> bool:
    module_name, colon, path = reference.partition(":")
    return bool(colon and module_name and path and not path.startswith("/"))  # else it is a URL that lacks slashes


def _attribute(reference: str) -> tuple[Any, ModuleType, str]:
    """Return the object of a reference, its module, and its path there."""
    module_name, _, path = reference.partition(":")
    module = _module(module_name)
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise BadTarget(f"module {module_name!r} has no attribute {path!r}{_near(path, module)}")
        found = getattr(found, name)
    return found, module, path


def _made(reference: str, function: Callable[[], object]) -> object:
    """Call the function of `reference`, which makes an app; it must not need arguments."""
    required = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty and parameter.kind not in _VARIADIC
    ]
    if required:
        msg = f"{reference} is a function that wants {', '.join(required)}; only one that wants nothing makes an app"
        raise BadTarget(msg)
    return function()


def _module(name: str) -> ModuleType:
    here = os.getcwd()  # noqa: PTH109 - a string, as sys.path holds them
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise BadTarget(_not_found(name, error.name)) from error
        raise _failed(name, error) from error
    except TenureError as error:
        # Already a sentence of ours (a bad URL, a bad task): only the place is missing.
        error.add_note(f"at {_place(error)}")
        raise
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def _not_found(name: str, missing: str) -> str:
    names = [path.stem for path in Path.cwd().glob("*.py")]
    names += [path.parent.name for path in Path.cwd().glob("*/__init__.py")]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "; run the command in the folder that holds it"
    part = "" if missing == name else f" (of {name!r})"
    return f"no module named {missing!r}{part}, neither in the current folder nor installed{hint}"


def _failed(name: str, error: BaseException) -> ImportFailed:
    last = traceback.format_exception_only(error)[-1].strip()
    return ImportFailed(f"module {name!r} cannot be imported: {_place(error)}: {last}")


def _place(error: BaseException) -> str:
    """File and line: the last one in the user's own files, else the last one at all."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and frame.filename != __file__
    ]
    here = f"{Path.cwd()}{os.sep}"
    own = [f for f in frames if f.filename.startswith(here) and "site-packages" not in f.filename] or frames
    return f"{_short(own[-1].filename)}:{own[-1].lineno}" if own else "unknown place"


def _short(filename: str) -> str:
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except ValueError:
        return filename


def _near(path: str, module: ModuleType) -> str:
    """Suggest what may have been meant: an app of that module, else a name like it."""
    apps = [name for name, value in vars(module).items() if isinstance(value, Tenure)]
    if apps:
        return f"; did you mean {module.__name__}:{apps[0]}?"
    near = difflib.get_close_matches(path, vars(module), n=1)
    return f"; did you mean {near[0]!r}?" if near else "; it holds no Tenure app at all"
