"""The app that the benchmarks drive; its place is named by the environment."""

import asyncio
import os
import time

from tenure import Tenure

app = Tenure(os.environ.get("TENURE_BENCH_URL", "memory://bench"))

#: Seconds from submit to the start of the handler.
latencies: list[float] = []


@app.task
async def noop(n: int) -> None:
    """Do nothing: what is left is the price of the promises."""


@app.task
async def stamp(sent: float) -> None:
    """Note how long the message was on its way; the monotonic clock is the same for all processes."""
    latencies.append(time.monotonic() - sent)


@app.task
async def nap(seconds: float) -> None:
    """Wait, as most work does."""
    await asyncio.sleep(seconds)
