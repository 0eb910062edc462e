"""The app whose store the dashboard shows: work that ends, work that fails, and work that is held for long."""

import asyncio
import os

from tenure import Tenure

app = Tenure(os.environ.get("TENURE_BENCH_URL", "memory://bench"))


@app.task
async def deliver(order: int) -> None:
    """End at once."""


@app.task(max_attempts=1)
async def refuse(order: int) -> None:
    """Fail, and be a dead letter."""
    msg = f"no such mailbox for order {order}"
    raise ConnectionError(msg)


@app.task(lease=60)
async def hold(order: int) -> None:
    """Run for longer than any measurement."""
    await asyncio.sleep(3600 + order)
