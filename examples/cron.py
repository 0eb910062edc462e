"""Schedules: a cron line, an interval, and two workers that send each tick once.

    python cron.py

A schedule is part of the app's code; every worker works out the same ticks, and a tick's message is stored once
however many workers run. `tenure schedules cron:app` shows what is scheduled and when it comes next.
"""

import asyncio
from collections import Counter
from datetime import timedelta

from tenure import Context, Tenure

app = Tenure("sqlite:///cron.db")
ticks: Counter[str] = Counter()
enough = asyncio.Event()


@app.task
async def report(name: str) -> None:
    """Something for the night."""
    print("report", name)


@app.task
async def heartbeat(ctx: Context) -> None:
    """Something for every second: `ctx.scheduled_for` is the moment of the tick, however late this runs."""
    assert ctx.scheduled_for is not None  # noqa: S101 - it was sent by a schedule
    ticks[f"{ctx.scheduled_for:%H:%M:%S %Z}"] += 1
    if len(ticks) == 3:  # noqa: PLR2004 - enough to see
        enough.set()


# At 03:00 by the clocks of Berlin, also on the days when they are changed. If no worker ran at that moment, one
# message is sent later ("once"); "skip" would send none.
app.schedule(report.bind("nightly"), cron="0 3 * * *", timezone="Europe/Berlin", missed="once", name="nightly")

# At every full second since 1970: all workers agree on these moments, whenever they were started.
app.schedule(heartbeat.bind(), every=timedelta(seconds=1), missed="skip")


async def main() -> None:
    """Two workers, three ticks."""
    async with app, app.worker(name="left"), app.worker(name="right"):
        async with asyncio.timeout(30):
            await enough.wait()
    for moment, count in ticks.items():
        print(f"tick of {moment}: sent {count} time{'s' if count > 1 else ''}, with two workers")


if __name__ == "__main__":
    asyncio.run(main())
