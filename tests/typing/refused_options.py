"""Options that are misspelt, or of another type."""

from datetime import timedelta

from tenure import Context, Reject, Retry, SyncContext, Tenure

app = Tenure("memory://")


@app.task
async def greet(ctx: Context, name: str) -> str:
    """Something to send."""
    ctx.submit(greet.bind("Bob"), dealy=5)  # expect: call-arg | reportCallIssue
    ctx.submit(greet.bind("Bob"), delay="soon")  # expect: arg-type | reportArgumentType
    ctx.submit("greet")  # expect: arg-type | reportArgumentType
    ctx.submit(greet.bind(17))  # expect: arg-type | reportArgumentType
    return name


call = greet.bind("Ada")


async def of_one_submit() -> None:
    """What `submit` takes beside a call."""
    await app.submit(call, delay="soon")  # expect: call-overload | reportArgumentType
    await app.submit(call, prioritee=9)  # expect: call-overload | reportCallIssue
    await app.submit(call, priority="high")  # expect: call-overload | reportArgumentType
    await app.submit(call, at="2100-01-01")  # expect: call-overload | reportArgumentType
    await app.submit(call, at=timedelta(hours=1))  # expect: call-overload | reportArgumentType
    await app.submit(call, at=4102444800)  # expect: call-overload | reportArgumentType
    await app.submit(call, expires="tomorrow")  # expect: call-overload | reportArgumentType
    await app.submit(call, key=17)  # expect: call-overload | reportArgumentType
    await app.submit(call, unique=False)  # expect: call-overload | reportArgumentType
    await app.submit(call, headers={"tenant": 17})  # expect: dict-item | reportArgumentType
    await app.submit(call, max_attempts=1.5)  # expect: call-overload | reportArgumentType
    await app.submit(call, {"name": "Ada"})  # expect: call-overload | reportArgumentType
    await app.submit(greet)  # expect: call-overload | reportArgumentType
    await app.submit(greet, "Ada")  # expect: call-overload | reportArgumentType
    await app.submit("greet", "Ada")  # expect: call-overload | reportArgumentType
    await app.submit("greet", name="Ada")  # expect: call-overload | reportCallIssue
    await app.submit("greet", {"name": "Ada"}, dealy=5)  # expect: call-overload | reportCallIssue
    app.submit_sync(call, delay="soon")  # expect: call-overload | reportArgumentType
    app.submit_sync(call, prioritee=9)  # expect: call-overload | reportCallIssue


async def of_many() -> None:
    """What `submit_many` takes, and what one of its calls may have."""
    await app.submit_many([call], prioritee=9)  # expect: call-arg | reportCallIssue
    await app.submit_many([call], delay="soon")  # expect: arg-type | reportArgumentType
    await app.submit_many(call)  # expect: arg-type | reportArgumentType
    await app.submit_many(["greet"])  # expect: arg-type | reportArgumentType
    app.submit_many_sync([call], priority="high")  # expect: arg-type | reportArgumentType
    call.having(prioritee=9)  # expect: call-arg | reportCallIssue
    call.having(key=17)  # expect: arg-type | reportArgumentType


async def of_a_handle() -> None:
    """How long to wait."""
    await (await greet.submit("Ada")).result(timeout="long")  # expect: arg-type | reportArgumentType
    greet.submit_sync("Ada").result(timeout="long")  # expect: arg-type | reportArgumentType


def of_a_schedule() -> None:
    """When, and what to do about ticks that were missed."""
    app.schedule(call, cron="@daily", missed="sometimes")  # expect: arg-type | reportArgumentType
    app.schedule(call, corn="@daily")  # expect: call-arg | reportCallIssue
    app.schedule(call, cron=5)  # expect: arg-type | reportArgumentType
    app.schedule(call, every="hour")  # expect: arg-type | reportArgumentType
    app.schedule(call, cron="@daily", timezone=None)  # expect: arg-type | reportArgumentType
    app.schedule(call, every=60, prioritee=9)  # expect: call-arg | reportCallIssue
    app.schedule(greet, every=60)  # expect: arg-type | reportArgumentType


def of_a_verdict() -> None:
    """When to come back, and why not."""
    Retry(after="soon")  # expect: arg-type | reportArgumentType
    Retry(afer=5)  # expect: call-arg | reportCallIssue
    Reject(17)  # expect: arg-type | reportArgumentType


async def of_a_context(ctx: Context, sync_ctx: SyncContext) -> None:
    """What a handler says, awaited or not."""
    ctx.progress("half")  # expect: arg-type | reportArgumentType
    await ctx.set_size("large")  # expect: arg-type | reportArgumentType
    sync_ctx.touch("long")  # expect: arg-type | reportArgumentType
    await ctx.touch("long")  # expect: arg-type | reportArgumentType
    _kept: str | None = await ctx.last_checkpoint(int)  # expect: arg-type | reportAssignmentType
    _also: str | None = sync_ctx.last_checkpoint(int)  # expect: assignment | reportAssignmentType
    await sync_ctx.touch()  # expect: misc | reportGeneralTypeIssues
    ctx.submit(greet.bind(ctx.atempt))  # expect: attr-defined | reportAttributeAccessIssue
