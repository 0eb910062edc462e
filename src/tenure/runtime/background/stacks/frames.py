"""Frames of this process: of a thread by what it runs, of a coroutine by what it awaits. Names and lines only.

Read in the worker (`look.py`) and in a child process (`processes/child_channel.py`). What runs may move on while it
is read, so a stack is a picture, not a proof.
"""

import asyncio
import gc
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

import msgspec

from tenure.handler_stack import (
    MOST_BRANCHES,
    FrameKind,
    FrameStack,
    StackBranch,
    StackFrame,
    bounded,
)
from tenure.text.traceback_text import installed_package, is_library

#: No chain of calls is followed further than this.
_DEEPEST = 2_000
_TENURE = str(Path(__file__).parents[3])
#: Where the way to a handler begins: what called these is the same for every message, and says nothing.
_ENTRIES = {
    (f"{_TENURE}/runtime/path/handling.py", "_run"),
    (f"{_TENURE}/runtime/processes/calling.py", "without_stop"),
    (f"{_TENURE}/runtime/processes/child_main.py", "ending"),
}
#: Functions of asyncio, and one of ours, that wait for other tasks, and the local name by which they know them. (Of
#: their own frames only: of a handler's frames no variable is ever read.)
_WAITING = {
    ("asyncio.taskgroups", "__aexit__"): "self",
    ("asyncio.tasks", "_wait"): "fs",
    ("asyncio.tasks", "wait_for"): "fut",
    ("tenure.tasks.batch", "_join"): "batch",
}


def stack_of_thread(thread_id: int, own: str) -> FrameStack:
    """Return the stack of a thread of this process. No frames: it has ended, or runs no handler."""
    top = sys._current_frames().get(thread_id)  # noqa: SLF001 - the documented way to see another thread
    return bounded(marked(_called(top), own))


def stack_of_task(task: "asyncio.Task[Any]", thread_id: int, own: str) -> FrameStack:
    """Return the stack of a task: what it awaits, or its loop's thread if the task runs right now."""
    current = asyncio.current_task(task.get_loop())
    if current is task:
        return stack_of_thread(thread_id, own)
    frames, branches = _awaited(task, own, set())
    if current is not None and current in _waited_for(task):  # a part of it keeps the loop busy
        branches.insert(0, StackBranch(f"{current.get_name()}, which runs now", stack_of_thread(thread_id, own).frames))
    return bounded(marked(frames, own), tuple(branches))


def own_code(function: Callable[..., Any]) -> str:
    """Return the user's own code, which counts as such even if installed: the handler's file, or its package."""
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else installed_package(code.co_filename) or code.co_filename


def marked(frames: Iterable[StackFrame], own: str) -> list[StackFrame]:
    """Keep the frames from the handler's entry on, and mark whose code each is. `frames`: the outermost first."""
    inside = _from_entry(list(frames))
    kinds = [_kind(frame.file, own) for frame in inside]
    begins = next((place for place, kind in enumerate(kinds) if kind is FrameKind.USER), len(kinds))
    # The frames between our entry and the handler are part of the way there, whichever code they are in.
    if begins < len(kinds):
        kinds[:begins] = [FrameKind.TENURE] * begins
    return [msgspec.structs.replace(frame, kind=kind) for frame, kind in zip(inside, kinds, strict=True)]


def runs_handler(frames: Iterable[StackFrame]) -> bool:
    """Whether a thread with these frames is in a handler."""
    return any(_is_entry(frame) for frame in frames)


def _is_entry(frame: StackFrame) -> bool:
    return (frame.file, frame.function.rpartition(".")[2]) in _ENTRIES


def _from_entry(frames: list[StackFrame]) -> list[StackFrame]:
    for place, frame in enumerate(frames):
        if _is_entry(frame):
            return frames[place:]
    return frames


def _kind(file: str, own: str) -> FrameKind:
    if own and file.startswith(own):
        return FrameKind.USER
    if file.startswith(f"{_TENURE}/"):
        return FrameKind.TENURE
    return FrameKind.LIBRARY if is_library(file, own) else FrameKind.USER


def _called(top: FrameType | None) -> list[StackFrame]:
    found: list[StackFrame] = []
    while top is not None and len(found) < _DEEPEST:
        found.append(_frame(top))
        top = top.f_back
    return found[::-1]


def _frame(frame: FrameType) -> StackFrame:
    code = frame.f_code
    return StackFrame(code.co_filename, frame.f_lineno, code.co_qualname)


# -- coroutines ------------------------------------------------------------------------------------


def _awaited(
    task: "asyncio.Task[Any]", own: str, seen: "set[asyncio.Task[Any]]"
) -> tuple[list[StackFrame], list[StackBranch]]:
    """The chain of coroutines of a task, and the tasks for which the last of them waits."""
    seen.add(task)
    found = [_frame(frame) for frame in _chain(task.get_coro())]
    branches: list[StackBranch] = []
    for other in _waited_for(task):
        if other in seen or other.done() or len(seen) > MOST_BRANCHES:
            continue
        frames, more = _awaited(other, own, seen)
        branches += [StackBranch(other.get_name(), bounded(marked(frames, own)).frames), *more]
    return found, branches


def _chain(awaitable: Any) -> list[FrameType]:
    frames: list[FrameType] = []
    while awaitable is not None and len(frames) < _DEEPEST:
        frame, awaitable = _step(awaitable)
        if frame is not None:
            frames.append(frame)
    return frames


def _step(awaitable: Any) -> tuple[FrameType | None, Any]:
    """The frame of something that is awaited, and what it awaits itself."""
    match awaitable:
        case CoroutineType():
            return awaitable.cr_frame, awaitable.cr_await
        case GeneratorType():
            return awaitable.gi_frame, awaitable.gi_yieldfrom
        case AsyncGeneratorType():
            return awaitable.ag_frame, awaitable.ag_await
        case asyncio.Future():
            return None, None
    # `async for` and `__await__` stand between, and do not say for whom; the garbage collector knows.
    kinds = (CoroutineType, GeneratorType, AsyncGeneratorType)
    return None, next((one for one in gc.get_referents(awaitable) if isinstance(one, kinds)), None)


def _waited_for(task: "asyncio.Task[Any]") -> "list[asyncio.Task[Any]]":
    waiter = getattr(task, "_fut_waiter", None)
    if isinstance(waiter, asyncio.Task):
        return [waiter]
    children = getattr(waiter, "_children", None)  # of `asyncio.gather`
    if children is None:
        last = next(iter(_chain(task.get_coro())[-1:]), None)
        where = None if last is None else (last.f_globals.get("__name__"), last.f_code.co_name)
        name = _WAITING.get(where) if where is not None else None  # type: ignore[arg-type]
        value = None if last is None or name is None else last.f_locals.get(name)
        children = getattr(value, "_tasks", getattr(value, "running", value))
    some = [children] if isinstance(children, asyncio.Task) else children
    return [one for one in some if isinstance(one, asyncio.Task)] if isinstance(some, list | set | tuple) else []
