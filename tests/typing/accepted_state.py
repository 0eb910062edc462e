"""What a lifespan yields, typed: `Context[State]` in handlers, `Context` where nobody needs to know."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, assert_type

from tenure import Context, Handle, SyncContext, Tenure
from tenure.middleware import Run


@dataclass
class Resources:
    """What handlers share."""

    cache: dict[str, int] = field(default_factory=dict[str, int])


@asynccontextmanager
async def lifespan(_app: Tenure) -> AsyncGenerator[Resources, None]:
    """Opened by each worker."""
    yield Resources()


app = Tenure("memory://", lifespan=lifespan)


@app.task
async def count(ctx: Context[Resources], word: str) -> int:
    """Async: the state is of the type that the context names."""
    assert_type(ctx.state, Resources)
    assert_type(await ctx.last_checkpoint(int), int | None)
    note(ctx, word)
    return ctx.state.cache.setdefault(word, 0)


@app.task(max_attempts=2)
def count_sync(ctx: SyncContext[Resources], word: str) -> int:
    """Likewise, sync."""
    assert_type(ctx.state.cache, dict[str, int])
    return ctx.state.cache.setdefault(word, 0)


@app.task
async def untyped(ctx: Context, word: str) -> str:
    """A plain context: its state is anything."""
    resources: Resources = ctx.state
    return f"{word} {resources.cache} {ctx.state.anything.at_all}"


@app.middleware
async def watched(ctx: Context[Resources], run: Run) -> Any:
    """Middleware may name the state too."""
    ctx.state.cache["runs"] = ctx.state.cache.get("runs", 0) + 1
    return await run()


def note(ctx: Context, word: str) -> None:
    """A function of one's own that does not care."""
    ctx.log.info("%s", word)


async def uses() -> None:
    """The task is typed by the parameters after the context, as ever."""
    assert_type(await count.submit("lease"), Handle[int])
    assert_type(await count("lease"), int)
    assert_type(count_sync("lease"), int)
    assert_type(await untyped.submit(word="lease"), Handle[str])
