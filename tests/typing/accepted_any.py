"""Handlers whose types say nothing, in part: nothing right is refused.

mypy takes a task for `Any` where the handler's types have an `Any` in them (so it chooses among overloads), and then
finds no mistakes either; pyright does. Types that say more are checked by both.
"""

from typing import Any

from tenure import Context, SyncContext, Tenure

app = Tenure("memory://")
row: dict[str, Any] = {}


@app.task
async def anything(payload: Any) -> int:
    """Its first parameter would take a context too, but is none."""
    return len(payload)


@app.task(max_attempts=2)
def anything_sync(payload: Any, times: int) -> str:
    """Likewise."""
    return str(payload) * times


@app.task
def parsed(text: str) -> Any:
    """Not awaited, whatever it returns."""
    return text


@app.task
async def counted(ctx: Context, words: dict[str, Any]) -> dict[str, Any]:
    """An `Any` inside."""
    return {"words": len(words), "attempt": ctx.attempt}


@app.task(max_attempts=2)
def counted_sync(ctx: SyncContext, words: dict[str, Any]) -> dict[str, Any]:
    """Likewise, sync."""
    return {"words": len(words), "attempt": ctx.attempt}


async def uses() -> None:
    """Right arguments, by position or by name."""
    await anything.submit({"a": 1})
    await anything.submit(payload=row)
    anything_sync.bind("a", times=3)
    anything_sync(payload="a", times=3).upper()
    parsed("a").upper()
    parsed.submit_sync(text="a").result().upper()
    await counted(row)
    await counted.submit(row["words"])
    counted_sync.bind(words=row)
    counted_sync({}).items()
