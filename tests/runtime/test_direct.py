"""Calling a task directly: the handler itself, without a queue."""

import pytest

from tenure import Context, SyncContext, Tenure
from tenure.errors import BadArgument

app = Tenure("memory://")


@app.task
async def resize(ctx: Context, image: str, width: int = 800) -> dict[str, int]:
    ctx.progress(0.5, "half")
    await ctx.checkpoint({"page": 2})
    assert await ctx.last_checkpoint() == {"page": 2}
    await ctx.touch()
    ctx.submit(count.bind(image))
    return {image: width * ctx.attempt}


@app.task
def count(ctx: SyncContext, text: str) -> int:
    ctx.checkpoint(1)
    assert ctx.last_checkpoint(int) == 1
    ctx.touch(5)
    return len(text)


@app.task
def bare(text: str) -> str:
    return text.upper()


async def test_a_handler_can_be_called_with_its_arguments_alone() -> None:
    assert await resize("a.png") == {"a.png": 800}
    assert await resize("a.png", width=3) == {"a.png": 3}
    assert count("abc") == 3
    assert bare("abc") == "ABC"


async def test_a_context_that_the_caller_brings_is_used() -> None:
    seen = []

    @app.task
    async def look(ctx: Context, word: str) -> Context:
        seen.append(word)
        return ctx

    mine = await look("first")
    assert await look.function(mine, "second") is mine
    assert await look(mine, "third") is mine  # type: ignore[call-arg]
    assert seen == ["first", "second", "third"]


async def test_what_is_handed_on_wrongly_is_refused_in_a_direct_call_too() -> None:
    @app.task
    async def hand_on(ctx: Context) -> None:
        ctx.submit(bare.bind("a"), priority=99)

    with pytest.raises(BadArgument, match="priority"):
        await hand_on()
