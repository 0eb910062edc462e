"""A long task: it tells how far it is, and goes on where it was when its worker is stopped in the middle.

    python long_task.py

The lease is short (30 s) and renewed in the background for as long as the handler runs, so long work needs no
long lease. A checkpoint is kept when `ctx.checkpoint` returns; progress is for people who look, and is written
once a second.
"""

import asyncio

from tenure import Context, Handle, Tenure

app = Tenure("sqlite:///long_task.db")
CHAPTERS = 16


@app.task
async def translate(ctx: Context, book: str) -> str:
    """One chapter after the other, from the first that is not done yet."""
    done = await ctx.last_checkpoint(int) or 0
    if done:
        print(f"  {book}: chapters 1 to {done} are done already")
    for chapter in range(done + 1, CHAPTERS + 1):
        await asyncio.sleep(0.15)  # the work
        await ctx.checkpoint(chapter)
        ctx.progress(chapter / CHAPTERS, note=f"chapter {chapter}")
    return f"{book}: {CHAPTERS} chapters"


async def progress_of(handle: Handle[str]) -> str:
    """What anybody who has the id can see at any time."""
    status = await handle.status()
    if status.progress is None or status.progress.fraction is None:
        return f"  {status.state}"
    return f"  {status.state}, {status.progress.fraction:.0%} ({status.progress.note})"


async def main() -> None:
    """Two workers, one after the other."""
    async with app:
        handle = await translate.submit("Middlemarch")

        print("a worker begins, and is stopped in the middle:")
        async with app.worker(grace=0):  # no time to finish: what runs is given back
            while (await handle.status()).progress is None:  # noqa: ASYNC110 - it is in the database, so we look
                await asyncio.sleep(0.05)
            print(await progress_of(handle))
        print(await progress_of(handle))

        print("another worker goes on:")
        async with app.worker():
            print(" ", await handle.result(timeout=30))


if __name__ == "__main__":
    asyncio.run(main())
