"""Tenure: its app, tasks and producer, on any of its stores. `PROOF_STORE` is the URL."""

import asyncio
import os
import sqlite3
from contextlib import closing

import work

from tenure import Context, Tenure

app = Tenure(os.environ.get("PROOF_STORE", work.URL))


@app.task
async def noop(n: int) -> None:  # noqa: ARG001 - a message has a body
    """Do nothing."""
    work.noop()


@app.task(name="work")
async def run(ctx: Context, id: str, kind: str, seconds: float) -> None:
    """Take its time, and have an effect in a database of its own, once."""
    await work.work_async(id, kind, seconds)
    await asyncio.to_thread(_have_effect, ctx, id)


def _have_effect(ctx: Context, id: str) -> None:
    with closing(sqlite3.connect(f"{work.FOLDER}/effects.sqlite", timeout=60, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # processes die here, not machines
        db.execute("BEGIN IMMEDIATE")
        if ctx.once(db):
            work.effect(id)
        db.execute("COMMIT")


async def _fill(count: int) -> None:
    async with app:
        for first in range(0, count, 1000):
            await app.submit_many([noop.bind(1) for _ in range(min(1000, count - first))])


async def _send(messages: list[tuple[str, str, float]]) -> None:
    async with app:
        await app.submit_many([run.bind(*message).having(id=message[0]) for message in messages])


def _malform() -> None:
    raise NotImplementedError("the driver does it, for each store in its own way")


if __name__ == "__main__":
    work.answer(lambda count: asyncio.run(_fill(count)), lambda messages: asyncio.run(_send(messages)), _malform)
