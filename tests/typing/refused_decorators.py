"""Decorators with options that a task does not have, and functions that cannot stand where they are put."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tenure import Context, SyncContext, Tenure
from tenure.middleware import Run

app = Tenure("memory://")

app.task(max_atempts=5)  # expect: call-overload | reportCallIssue
app.task(max_attempts="5")  # expect: call-overload | reportArgumentType
app.task(lease="30s")  # expect: call-overload | reportArgumentType
app.task(reject_on="ValueError")  # expect: call-overload | reportArgumentType
app.task(reject_on=[ValueError])  # expect: call-overload | reportArgumentType
app.task(reject_on=(17,))  # expect: arg-type | reportArgumentType
app.task(runs_in="subprocess")  # expect: call-overload | reportArgumentType
app.task(heartbeat="off")  # expect: call-overload | reportArgumentType
app.task(size=17)  # expect: call-overload | reportArgumentType
app.task(profile=45)  # expect: call-overload | reportArgumentType
app.task(concurrency="all")  # expect: call-overload | reportArgumentType
app.task(name=17)  # expect: call-overload | reportArgumentType
app.task("resize")  # expect: call-overload | reportArgumentType


def not_async(ctx: Context, run: Run) -> str:
    """It returns before the handler ran."""
    return f"{ctx} {run}"


async def without_run(ctx: Context) -> None:
    """Middleware takes two."""


async def of_a_thread(ctx: SyncContext, run: Run) -> Any:
    """Middleware runs in the loop, also around a thread's handler."""
    return await run()


async def more(ctx: Context, run: Run, name: str) -> Any:
    """Middleware takes two."""
    return await run()


async def taking_words(ctx: Context, run: Callable[[str], Any]) -> Any:
    """What is run takes nothing."""
    return await run("words")


app.middleware(not_async)  # expect: arg-type | reportArgumentType
app.middleware(without_run)  # expect: arg-type | reportArgumentType
app.middleware(of_a_thread)  # expect: arg-type | reportArgumentType
app.middleware(more)  # expect: arg-type | reportArgumentType
app.middleware(taking_words)  # expect: arg-type | reportArgumentType
Tenure("memory://", middleware=[more])  # expect: list-item | reportArgumentType


@contextmanager
def not_async_either(app: Tenure) -> Generator[str, None, None]:
    """A lifespan is async."""
    yield app.client


async def no_context_manager(app: Tenure) -> str:
    """A lifespan is entered and left."""
    return app.client


Tenure("memory://", lifespan=not_async_either)  # expect: arg-type | reportArgumentType
Tenure("memory://", lifespan=no_context_manager)  # expect: arg-type | reportArgumentType
Tenure("memory://", lifespan="lifespan")  # expect: arg-type | reportArgumentType
Tenure("memory://", clinet="shop")  # expect: call-arg | reportCallIssue
Tenure(17)  # expect: arg-type | reportArgumentType
app.worker(concurency=5)  # expect: call-arg | reportCallIssue
app.worker(concurrency="all")  # expect: arg-type | reportArgumentType


@app.task(batch=10)
async def index(pictures: list[str]) -> None:
    """A batch."""


async def of_batches() -> None:
    """An item is sent, not a list."""
    await index.submit(["a.png"])  # expect: arg-type | reportArgumentType
    await index.submit(17)  # expect: arg-type | reportArgumentType


app.task(batch="many")(index)  # expect: call-overload | reportArgumentType
app.task(batch=10)(lambda number: number)  # expect: arg-type | reportArgumentType
