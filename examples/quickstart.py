"""Quickstart: a few tasks, a worker in the same process, and what comes back.

    python quickstart.py

Messages are kept in quickstart.db, in the current folder. Here the worker runs beside the sender; usually it
is a process of its own (`tenure worker quickstart:app`), and there may be many.
"""

import asyncio
from dataclasses import dataclass

from tenure import Context, Reject, Retry, TaskFailed, Tenure

app = Tenure("sqlite:///quickstart.db")


@dataclass
class Size:
    """A result may be any type that has a JSON form; whoever asks for it gets this type back."""

    width: int
    height: int


@app.task
async def resize(image: str, width: int = 800) -> Size:
    """The parameters are the payload: checked when you submit, and again before it runs."""
    if not image.endswith(".png"):
        reason = f"{image} is not a PNG file"
        raise Reject(reason)  # it can never succeed: to the dead letters, now
    return Size(width, width * 3 // 4)


@app.task(max_attempts=5, retry_delay=0.1)
async def fetch(ctx: Context, page: str) -> str:
    """The context comes first, and may be left out."""
    if ctx.attempt == 1:
        raise Retry(after=0.2, reason="the site is busy")  # not now: again a little later
    return f"{page}, at attempt {ctx.attempt}"


@app.task
def count_words(text: str) -> int:
    """A plain function runs in a thread, so that it may block."""
    return len(text.split())


async def main() -> None:
    """Submit, wait, print."""
    async with app, app.worker():
        image = await resize.submit("a.png", width=400)
        page = await fetch.submit("/index.html")
        words = await app.submit(count_words.bind("no message lost"), priority=9)
        wrong = await resize.submit("b.jpg")

        print("resized:", await image.result(timeout=10))
        print("fetched:", await page.result(timeout=10))
        print("counted:", await words.result(timeout=10))
        try:
            await wrong.result(timeout=10)
        except TaskFailed as error:
            print("refused:", error.reason_code, "-", error)
        print("the last one is", (await wrong.status()).state)


if __name__ == "__main__":
    asyncio.run(main())
