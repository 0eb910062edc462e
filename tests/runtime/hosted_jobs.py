"""An app with a lifespan and middleware, for `test_hosting.py`: child processes import this module by its name."""

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tenure import Context, Retry, SyncContext, Tenure
from tenure.middleware import Run

#: Where the lifespan writes down what happens to it, and where it finds what it should do.
FOLDER = "TENURE_TEST_FOLDER"

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


def note(what: str) -> None:
    with (Path(os.environ[FOLDER]) / "notes").open("a", encoding="ascii") as notes:
        notes.write(f"{what}\n")


async def keep_up() -> None:
    """What a pool does in the background."""
    while not (Path(os.environ[FOLDER]) / "fails").exists():  # noqa: ASYNC110 - a test is in another process
        await asyncio.sleep(0.01)
    msg = "the pool broke"
    raise ConnectionError(msg)


@asynccontextmanager
async def lifespan(_app: Tenure) -> AsyncIterator[dict[str, Any]]:
    if (Path(os.environ[FOLDER]) / "broken").exists():
        msg = "no database there"
        raise ConnectionError(msg)
    note("open")
    async with asyncio.TaskGroup() as group:  # must be left by the task that entered it
        helper = group.create_task(keep_up())
        yield {"pid": os.getpid(), "task": id(asyncio.current_task())}
        helper.cancel()
    note("closed")


app = Tenure("memory://hosted-jobs", lifespan=lifespan)


@app.task(runs_in="process")
def state_of_a_function(ctx: SyncContext) -> bool:
    return bool(ctx.state["pid"] == os.getpid())


@app.task(runs_in="process")
async def state_later(ctx: Context) -> bool:
    return bool(ctx.state["pid"] == os.getpid())


@app.task(runs_in="process")
async def wait_a_little() -> None:
    await asyncio.sleep(0.2)


# -- within middleware -----------------------------------------------------------------------------

around = Tenure("memory://around-jobs")


@around.middleware
async def outer(ctx: Context, run: Run) -> Any:
    who.set("ada")
    await asyncio.sleep(0)
    before = await ctx.last_checkpoint()
    try:
        result = await run()
    except ZeroDivisionError as error:
        raise Retry(after=7, reason=f"middleware saw {error}") from error
    return [result, before, ctx.attempt]


@around.middleware
async def inner(ctx: Context, run: Run) -> Any:
    if ctx.message.task == "not_run":
        return "from the cache"
    return await asyncio.create_task(_in_a_task(run))


async def _in_a_task(run: Run) -> Any:
    return await run()


@around.task(runs_in="process")
def a_function(ctx: SyncContext) -> list[Any]:
    async def own_loop() -> str:
        await asyncio.sleep(0)
        return "a loop of its own"

    ctx.checkpoint([1])
    main = threading.current_thread() is threading.main_thread()
    return [who.get(), main, asyncio.run(own_loop())]


@around.task(runs_in="process")
async def later(ctx: Context) -> list[Any]:
    await ctx.checkpoint([1])
    return [who.get()]


@around.task(runs_in="process")
def divide() -> float:
    return 1 / 0


@around.task(runs_in="process")
async def divide_later() -> float:
    return 1 / 0


@around.task(runs_in="process")
def leave() -> None:
    sys.exit(3)


@around.task(runs_in="process")
async def leave_later() -> None:
    sys.exit(3)


@around.task(runs_in="process")
def stop_iteration() -> None:
    next(iter([]))


@around.task(runs_in="process")
def not_run() -> None:
    os._exit(1)


@around.task(runs_in="process")
def nobody() -> str:
    return who.get()
