"""The app: submit with options, many at once, schedules, lifespan, middleware, an embedded worker."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from tenure import Call, Context, Handle, PartlySent, Record, SyncHandle, TaskFailed, Tenure
from tenure.middleware import Run


@asynccontextmanager
async def lifespan(app: Tenure) -> AsyncGenerator[dict[str, str], None]:
    """What handlers get as `ctx.state`."""
    yield {"client": app.client}


async def outermost(_ctx: Context, run: Callable[[], Awaitable[object]]) -> object:
    """Middleware in the user's own words."""
    return await run()


app = Tenure("memory://", client="shop", namespace="eu", lifespan=lifespan, middleware=[outermost])


@app.middleware
async def told(ctx: Context, run: Run) -> Any:
    """Middleware in Tenure's words."""
    ctx.log.info("%s, attempt %d", ctx.message.task, ctx.attempt)
    return await run()


@app.task
async def greet(name: str) -> str:
    """Something to send."""
    return f"Hello {name}"


@app.task
def add(a: int, b: int) -> int:
    """Something else to send."""
    return a + b


app.schedule(greet.bind("Ada"), cron="0 3 * * MON-FRI", timezone="Europe/Berlin", missed="skip", name="morning")
app.schedule(add.bind(1, 2), every=timedelta(minutes=5), priority=9, expires=240)
app.schedule(add.bind(1, 2), every=30, missed="once", name="often")


async def options() -> None:
    """Every option of one submit."""
    call = greet.bind("Ada")
    moment = datetime(2100, 1, 1, tzinfo=UTC)
    assert_type(await app.submit(call), Handle[str])
    assert_type(
        await app.submit(
            call, priority=9, delay=timedelta(minutes=1), expires=moment, key="order-17", unique=True,
            unique_window=60, lease=30, max_attempts=2, max_hold=3600.0, id="my-id", headers={"tenant": "a"},
            correlation_id="request-3",
        ),
        Handle[str],
    )  # fmt: skip
    await app.submit(call, at=moment, unique="ada")
    await app.submit(call, delay=1.5, expires=10)
    assert_type(call.having(key="order-18", at=moment), Call[str])
    assert_type(await app.submit(call.having(key="order-18")), Handle[str])
    assert_type(app.submit_sync(call, priority=1), SyncHandle[str])


async def by_name() -> None:
    """A task of another program: what it returns is not known here."""
    assert_type(await app.submit("greet", {"name": "Ada"}, priority=1), Handle[Any])
    assert_type(await (await app.submit("clean")).result(), Any)
    assert_type(app.submit_sync("greet", {"name": "Ada"}), SyncHandle[Any])
    assert_type(app.submit_sync("greet", {"name": "Ada"}).result(), Any)


async def many() -> None:
    """One handle each; calls of several tasks may be sent together."""
    handles = await app.submit_many([greet.bind(name) for name in ("Ada", "Bob")], priority=3)
    assert_type(handles, list[Handle[str]])
    assert_type([await handle.result() for handle in handles], list[str])
    assert_type(app.submit_many_sync(add.bind(n, 1) for n in range(3)), list[SyncHandle[int]])
    both: list[Call[object]] = [greet.bind("Ada"), add.bind(1, 2)]
    assert_type(await app.submit_many(both), list[Handle[object]])
    try:
        await app.submit_many(both)
    except PartlySent as error:
        assert_type(error.code, str)


async def asks() -> None:
    """What a handle knows."""
    handle = await greet.submit("Ada")
    assert_type(handle.id, str)
    assert_type(handle.duplicate, bool)
    assert_type(await handle.status(), Record)
    assert_type(await handle.cancel(), bool)
    assert_type(await app.record(handle.id), Record | None)
    try:
        greeting = await handle.result(timeout=5)
    except TaskFailed as error:
        greeting = str(error)
    assert_type(greeting, str)
    wider: Handle[object] = handle
    await wider.result()


def asks_from_sync_code() -> None:
    """Likewise, and nothing is awaited."""
    handle = greet.submit_sync("Ada")
    assert_type(handle.id, str)
    assert_type(handle.duplicate, bool)
    assert_type(handle.status(), Record)
    assert_type(handle.cancel(), bool)
    wider: SyncHandle[object] = handle
    wider.result()


async def embedded() -> None:
    """A worker inside of another program."""
    async with app as opened, app.worker(concurrency=10, queues=["pictures"], grace=5):
        assert_type(opened, Tenure)
