"""The types of `@app.task`: a function's own parameters, without `ctx`, type the task.

The order matters, for the first that fits is taken: a first parameter or a result that is declared `Any` fits
everything, so those come first.

Used by `registry.py`, which has the same list for the decorator without options.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from tenure.tasks.batch import BatchContext
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.task import AsyncTask, SyncTask

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Anything:
    """Never made. Only parameters declared `Any` or `object` accept it: neither is a context, nor awaitable."""


class TaskDecorator(Protocol):
    """The result of `@app.task(…)`: the handler's own parameters, without `ctx`, type `submit` and `bind`."""

    @overload
    def __call__(self, function: Callable[Concatenate[Anything, P], Awaitable[R]], /) -> AsyncTask[..., R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[Anything, P], R], /) -> SyncTask[..., R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context[Any], P], Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[SyncContext[Any], P], R], /) -> SyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Anything], /) -> SyncTask[P, Any]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...


class BatchDecorator(Protocol):
    """The result of `@app.task(batch=…)`: an item of the handler's list types `submit` and `bind`."""

    @overload
    def __call__(
        self, function: Callable[[BatchContext[Any], list[T]], Awaitable[None]], /
    ) -> AsyncTask[[T], None]: ...
    @overload
    def __call__(self, function: Callable[[list[T]], Awaitable[None]], /) -> AsyncTask[[T], None]: ...
    @overload
    def __call__(
        self, function: Callable[[BatchContext[Any], list[T]], Awaitable[Sequence[R]]], /
    ) -> AsyncTask[[T], R]: ...
    @overload
    def __call__(self, function: Callable[[list[T]], Awaitable[Sequence[R]]], /) -> AsyncTask[[T], R]: ...
