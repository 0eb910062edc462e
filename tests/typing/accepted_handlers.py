"""Every kind of handler, and what `@app.task` makes of it: the handler's own parameters, without `ctx`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from tenure import BatchContext, Call, Context, Handle, Reject, Retry, SyncContext, SyncHandle, Task, Tenure
from tenure.timing.profile import Profile, SizeTable

app = Tenure("memory://")


@dataclass
class Picture:
    """A type of the user's own."""

    path: str
    width: int


@app.task
async def resize(ctx: Context, path: str, width: int = 800) -> Picture:
    """Bare decorator, async, with a context."""
    if ctx.attempt > 3:
        raise Reject(reason="tried enough")
    if ctx.stopping:
        raise Retry(after=timedelta(seconds=1), reason="the worker ends")
    if not path:
        raise Retry
    return Picture(path, width)


@app.task(
    name="thumbnail", queue="pictures", max_attempts=5, retry_delay=0.5, max_retry_delay=timedelta(minutes=5), lease=30,
    max_hold=None, reject_on=(ValueError, KeyError), concurrency=2, runs_in="process", heartbeat=False, size="width",
    profile="markdown-generator",
)  # fmt: skip
def shrink(ctx: SyncContext, path: str, *, width: int) -> bytes:
    """With every option, sync, with a context and a keyword-only parameter."""
    ctx.progress(0.5, path)
    return path.encode()[:width]


@app.task
async def greet(name: str) -> str:
    """Async, without a context."""
    return f"Hello {name}"


@app.task(reject_on=ValueError)
def add(a: int, b: int) -> int:
    """Sync, without a context."""
    return a + b


def summed(a: int, b: int) -> int:
    """How large a multiplication is."""
    return a + b


@app.task(size=summed, profile=Profile(1, 2, 3, 4))
def multiply(a: int, b: int) -> int:
    """Its size is a function of its arguments, its profile its own."""
    return a * b


@app.task(profile=SizeTable())
def divide(a: int, b: int) -> float:
    """By a table of sizes."""
    return a / b


@app.task(runs_in="process", max_hold=3600)
async def clean(ctx: Context) -> None:
    """Nothing to say, nothing to return."""
    ctx.log.info("clean")


async def direct_calls() -> None:
    """Calling a task calls its handler: an async one is awaited, a sync one is not."""
    assert_type(await resize("a.png"), Picture)
    assert_type(await resize("a.png", width=10), Picture)
    assert_type(shrink("a.png", width=10), bytes)
    assert_type(await greet(name="Ada"), str)
    assert_type(add(1, b=2), int)
    await clean()


async def submits() -> None:
    """`submit` takes the same arguments; `result` is of the handler's type."""
    assert_type(await resize.submit("a.png"), Handle[Picture])
    assert_type(await (await resize.submit("a.png", 10)).result(), Picture)
    assert_type(await (await shrink.submit("a.png", width=10)).result(timeout=5), bytes)
    assert_type(await (await greet.submit(name="Ada")).result(), str)
    assert_type(await (await add.submit(1, 2)).result(), int)
    assert_type(await clean.submit(), Handle[None])


def submits_from_sync_code() -> None:
    """`submit_sync` likewise, and nothing is awaited."""
    assert_type(resize.submit_sync("a.png"), SyncHandle[Picture])
    assert_type(resize.submit_sync("a.png", width=10).result(), Picture)
    assert_type(shrink.submit_sync("a.png", width=10).result(timeout=5), bytes)
    assert_type(greet.submit_sync("Ada").result(), str)
    assert_type(add.submit_sync(1, 2).result(), int)


def binds() -> None:
    """`bind` likewise: the call knows what its result will be."""
    assert_type(resize.bind("a.png", width=10), Call[Picture])
    assert_type(shrink.bind("a.png", width=10), Call[bytes])
    assert_type(greet.bind("Ada"), Call[str])
    assert_type(add.bind(a=1, b=2), Call[int])
    assert_type(clean.bind(), Call[None])


def handles() -> None:
    """A handle made later, from an id, reads the result as the task's own."""
    assert_type(resize.handle("some-id"), Handle[Picture])
    assert_type(app.handle("some-id"), Handle[Any])
    assert_type(app.handle_sync("some-id"), SyncHandle[Any])


def takes_a_task(task: Task[[str], str]) -> Call[str]:
    """A task can be named as a type, without knowing whether it is async."""
    return task.bind("Ada")


takes_a_task(greet)
plain: Callable[[int, int], int] = add


@app.task(batch=100, within=0.5, max_attempts=5)
async def index(ctx: BatchContext, pictures: list[Picture]) -> None:
    """A batch, with the contexts of its messages."""
    for one, picture in zip(ctx, pictures, strict=True):
        one.progress(0.5, picture.path)


@app.task(batch=10)
async def measure(pictures: list[Picture]) -> list[int]:
    """A batch, with one result for each message."""
    return [picture.width for picture in pictures]


@app.task(batch=10, within=timedelta(seconds=2))
async def check(ctx: BatchContext, numbers: list[int]) -> list[str | Exception]:
    """A batch in which some may fail."""
    return [ValueError(number) if number < 0 else str(number) for number in numbers[: len(ctx)]]


async def of_batches() -> None:
    """What is sent is one item of the list."""
    assert_type(await index.submit(Picture("a.png", 1)), Handle[None])
    assert_type(await measure.submit(Picture("a.png", 1)), Handle[int])
    assert_type(measure.bind(Picture("a.png", 1)), Call[int])
    assert_type(await measure(Picture("a.png", 1)), int)
    await check.submit(17)
