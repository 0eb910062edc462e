"""What a handler may ask and say, awaited in `Context` and not in `SyncContext`."""

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from typing import Any, assert_type

from tenure import Call, Context, Message, SyncContext, Tenure

app = Tenure("memory://")


@dataclass
class Place:
    """Where a run got to."""

    page: int


@app.task
async def crawl(ctx: Context, url: str) -> int:
    """Async: touching and checkpoints are awaited."""
    assert_type(await ctx.last_checkpoint(Place), Place | None)
    assert_type(await ctx.last_checkpoint(), Any)
    place = await ctx.last_checkpoint(Place) or Place(0)
    await ctx.checkpoint(Place(place.page + 1))
    await ctx.touch()
    await ctx.touch(60)
    await ctx.set_size(2_100_000_000)
    ctx.progress(0.5, "half of it")
    ctx.progress(note="somewhere")
    assert_type(ctx.submit(index.bind(url, words=3), delay=5, key=url), str)
    return place.page


@app.task
def index(ctx: SyncContext, url: str, words: int) -> bool:
    """Sync: the same words, not awaited."""
    assert_type(ctx.last_checkpoint(Place), Place | None)
    assert_type(ctx.last_checkpoint(), Any)
    ctx.checkpoint(Place(words))
    ctx.touch(60)
    ctx.set_size(2.1e9)
    ctx.progress(1.0)
    assert_type(ctx.submit(crawl.bind(url)), str)
    return True


def both(ctx: Context | SyncContext, connection: Connection) -> None:
    """What the two have in common."""
    assert_type(ctx.message, Message)
    assert_type(ctx.attempt, int)
    assert_type(ctx.expected_end, float | None)
    assert_type(ctx.fence, int)
    assert_type(ctx.deadline, float)
    assert_type(ctx.stopping, bool)
    assert_type(ctx.lease_lost, bool)
    assert_type(ctx.scheduled_for, datetime | None)
    _state: str = ctx.state
    assert_type(ctx.once(connection, "charge"), bool)


def any_call(call: Call[object]) -> None:
    """A call that returns something is a call."""
    assert_type(call, Call[object])


any_call(crawl.bind("/"))
