"""Middleware: async functions that wrap every handler of an app.

    @app.middleware
    async def timed(ctx: Context, run: Run) -> Any:
        started = perf_counter()
        try:
            return await run()
        finally:
            ctx.log.info("took %.1f s", perf_counter() - started)

There is this one kind. It runs where the handler runs: in the worker's loop, and for a process handler in
the child. It sees the handler's result and its errors, may replace either, and may raise `Retry`, `Snooze` or `Reject`.
Middleware of a thread's handler runs in the loop around the thread; context variables that it sets are seen
there too. The first that was registered is the outermost. A handler is run once an attempt: for another run,
raise `Retry`. What ends programs (`sys.exit`) reaches middleware as a RuntimeError, so that it ends none.

Registered by `@app.middleware`; wound around the handler by `runtime/path/handling.py` and
`runtime/processes/child_main.py`.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tenure.errors import BadMiddleware
from tenure.tasks.context import Context

#: What middleware awaits to go on: the handler, or the next middleware.
Run = Callable[[], Awaitable[Any]]
Middleware = Callable[[Context[Any], Run], Awaitable[Any]]

_PARAMETERS = 2


class Middlewares(list[Middleware]):
    """The middleware of an app, outermost first. Called with a function, it adds that: `@app.middleware`."""

    def __call__(self, function: Middleware) -> Middleware:
        """Register `function` inside of the middleware that is registered already."""
        self.append(check(function))
        return function


def check(function: Middleware) -> Middleware:
    """Refuse what cannot be middleware."""
    name = getattr(function, "__name__", repr(function))
    # The second: an object whose `__call__` is async.
    if not (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)):
        msg = f"middleware {name} is not an async function; write: async def {name}(ctx, run): return await run()"
        raise BadMiddleware(msg)
    parameters = inspect.signature(function).parameters.values()
    if sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) != (
        _PARAMETERS
    ):
        msg = f"middleware {name} takes (ctx, run) and nothing else that has no default"
        raise BadMiddleware(msg)
    return function


def around(middleware: Sequence[Middleware], ctx: Context, run: Run) -> Run:
    """`run` with every middleware wound around it; the first is the outermost."""
    run = _Handler(run)
    for one in reversed(middleware):
        run = _bound(one, ctx, run)
    return run


def _bound(middleware: Middleware, ctx: Context, run: Run) -> Run:
    return lambda: middleware(ctx, run)


class _Handler:
    """The handler, as the innermost middleware sees it."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run

    async def __call__(self) -> Any:
        run, self._run = self._run, None
        if run is None:
            msg = "middleware awaited run() a second time; a handler is run once an attempt, raise Retry for another"
            raise RuntimeError(msg)
        try:
            return await run()
        except (KeyboardInterrupt, SystemExit) as error:
            # Middleware may have put us into a task, and a task would end the whole loop with it.
            msg = f"the handler raised {type(error).__name__}: {error}"
            raise RuntimeError(msg) from error
