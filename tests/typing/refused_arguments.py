"""Arguments that the handler could not take, wherever they are given."""

from tenure import Context, SyncContext, Tenure

app = Tenure("memory://")


@app.task
async def resize(ctx: Context, path: str, width: int = 800) -> str:
    """Async, with a context."""
    return f"{path} {width} {ctx.attempt}"


@app.task(max_attempts=5)
def shrink(ctx: SyncContext, path: str, *, width: int) -> str:
    """Sync, with a context and options."""
    return f"{path} {width} {ctx.attempt}"


@app.task
async def greet(name: str) -> str:
    """Async, without a context."""
    return name


@app.task
def add(a: int, b: int) -> int:
    """Sync, without a context."""
    return a + b


async def wrong_types() -> None:
    """The type of one argument is another's."""
    await resize.submit(17)  # expect: arg-type | reportArgumentType
    await resize.submit("a.png", "wide")  # expect: arg-type | reportArgumentType
    await resize.submit("a.png", width="wide")  # expect: arg-type | reportArgumentType
    resize.submit_sync(17)  # expect: arg-type | reportArgumentType
    resize.bind(17)  # expect: arg-type | reportArgumentType
    await resize(17)  # expect: arg-type | reportArgumentType
    await shrink.submit("a.png", width="wide")  # expect: arg-type | reportArgumentType
    shrink.submit_sync("a.png", width=None)  # expect: arg-type | reportArgumentType
    shrink.bind(17, width=3)  # expect: arg-type | reportArgumentType
    shrink(17, width=3)  # expect: arg-type | reportArgumentType
    await greet.submit(17)  # expect: arg-type | reportArgumentType
    greet.bind(None)  # expect: arg-type | reportArgumentType
    add.bind(1, "2")  # expect: arg-type | reportArgumentType
    add(1, "2")  # expect: arg-type | reportArgumentType


async def missing() -> None:
    """A parameter without a default is left out."""
    await resize.submit()  # expect: call-arg | reportCallIssue
    await resize.submit(width=10)  # expect: call-arg | reportCallIssue
    resize.submit_sync()  # expect: call-arg | reportCallIssue
    resize.bind()  # expect: call-arg | reportCallIssue
    await resize()  # expect: call-arg | reportCallIssue
    await shrink.submit("a.png")  # expect: call-arg | reportCallIssue
    shrink.bind("a.png")  # expect: call-arg | reportCallIssue
    shrink("a.png")  # expect: call-arg | reportCallIssue
    await greet.submit()  # expect: call-arg | reportCallIssue
    add.submit_sync(1)  # expect: call-arg | reportCallIssue
    add(1)  # expect: call-arg | reportCallIssue


async def unknown() -> None:
    """No such parameter; options are `app.submit`'s."""
    await resize.submit("a.png", height=10)  # expect: call-arg | reportCallIssue
    await resize.submit("a.png", priority=9)  # expect: call-arg | reportCallIssue
    resize.submit_sync("a.png", height=10)  # expect: call-arg | reportCallIssue
    resize.bind("a.png", height=10)  # expect: call-arg | reportCallIssue
    await resize("a.png", height=10)  # expect: call-arg | reportCallIssue
    shrink.bind("a.png", width=3, height=10)  # expect: call-arg | reportCallIssue
    await greet.submit("Ada", delay=5)  # expect: call-arg | reportCallIssue
    add(1, 2, c=3)  # expect: call-arg | reportCallIssue


async def too_many() -> None:
    """More than the handler takes."""
    await resize.submit("a.png", 10, 20)  # expect: call-arg | reportCallIssue
    resize.submit_sync("a.png", 10, 20)  # expect: call-arg | reportCallIssue
    resize.bind("a.png", 10, 20)  # expect: call-arg | reportCallIssue
    await resize("a.png", 10, 20)  # expect: call-arg | reportCallIssue
    shrink.bind("a.png", 3)  # expect: call-arg | reportCallIssue
    await greet.submit("Ada", "Bob")  # expect: call-arg | reportCallIssue
    add(1, 2, 3)  # expect: call-arg | reportCallIssue


async def the_context(ctx: Context, sync_ctx: SyncContext) -> None:
    """The context is the worker's to give."""
    await resize.submit(ctx, "a.png")  # expect: arg-type | reportArgumentType
    resize.bind(ctx, "a.png")  # expect: arg-type | reportArgumentType
    shrink.bind(sync_ctx, "a.png", width=3)  # expect: misc | reportCallIssue


async def results() -> None:
    """The result is of the handler's type, and must be awaited where code is async."""
    _number: int = await (await greet.submit("Ada")).result()  # expect: assignment | reportAssignmentType
    _words: str = add.submit_sync(1, 2).result()  # expect: assignment | reportAssignmentType
    await add(1, 2)  # expect: misc | reportGeneralTypeIssues
    handles = await app.submit_many([add.bind(1, 2)])
    _pages: list[str] = [await handle.result() for handle in handles]  # expect: misc | reportAssignmentType
    (await greet.submit("Ada")).result().upper()  # expect: attr-defined | reportAttributeAccessIssue
    greet("Ada").upper()  # expect: attr-defined | reportAttributeAccessIssue
