"""Fails a test in which a task died of an error that nothing looked at.

An assertion in a callback or in a task that is never awaited is only logged by asyncio, if at all: the test goes on
and passes. So every task that a test creates is looked at when the test is over, and so is what the event loop reports.

A pytest plugin, loaded by `conftest.py`. A test that is about such errors takes the fixture `unseen_errors` and clears
the list.
"""

import asyncio
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

_tasks: "weakref.WeakSet[asyncio.Task[Any]]" = weakref.WeakSet()
_reported: list[str] = []

_create_task = asyncio.BaseEventLoop.create_task
_call_exception_handler = asyncio.BaseEventLoop.call_exception_handler


def _tracked(self: asyncio.BaseEventLoop, *args: Any, **kwargs: Any) -> "asyncio.Task[Any]":
    task = _create_task(self, *args, **kwargs)
    _tasks.add(task)
    return task


def _noted(self: asyncio.BaseEventLoop, context: dict[str, Any]) -> None:
    # A stream server of Python 3.11 reports each connection that is cancelled when its loop ends.
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        _reported.append(f"{context.get('message')}: {context.get('exception')!r}")
    _call_exception_handler(self, context)


def pytest_configure() -> None:
    """Look at every loop from now on."""
    asyncio.BaseEventLoop.create_task = _tracked  # type: ignore[method-assign]
    asyncio.BaseEventLoop.call_exception_handler = _noted  # type: ignore[method-assign]


def pytest_unconfigure() -> None:
    """As it was."""
    asyncio.BaseEventLoop.create_task = _create_task  # type: ignore[method-assign]
    asyncio.BaseEventLoop.call_exception_handler = _call_exception_handler  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def unseen_errors() -> Iterator[list[str]]:
    """What nothing looked at so far; the test fails if anything is left at its end."""
    _reported.clear()
    yield _reported
    found = [*_reported, *map(_unseen, list(_tasks))]
    _tasks.clear()
    _reported.clear()
    wrong = [text for text in found if text]
    assert not wrong, f"errors that nothing looked at: {wrong}"


def _unseen(task: "asyncio.Task[Any]") -> str:
    """The error of a task whose result was never asked for."""
    if not task.done() or task.cancelled() or not task._log_traceback:
        return ""
    return f"{task!r} died of {task.exception()!r}"
