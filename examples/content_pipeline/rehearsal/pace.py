"""Notes each run, and lets it take the time that the real service would take, scaled down.

The services of a real pipeline wait for networks and models; their profiles say how long. Offline nothing waits, so a
rehearsal adds a part of that time, half before the work and half after it: a kill in the second half finds work that is
done, and a message that is not.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from tenure import Context
from tenure.middleware import Middleware, Run
from tenure.standalone import PROCESSING_TIME_ESTIMATES

SERVICES = {
    "collect": "content-collector",
    "process": "content-processor",
    "generate": "markdown-generator",
    "build": "site-publisher",
}
#: A second of the rehearsal is so many seconds of the profiles.
SCALE = float(os.environ.get("PIPELINE_SCALE", "300"))


def half_of(task: str) -> float:
    """Half of the seconds that one run takes; 0 for what only asks."""
    if task not in SERVICES:
        return 0.0
    return PROCESSING_TIME_ESTIMATES[SERVICES[task]]["average"] / SCALE / 2


def note(run_log: Path, what: str, task: str, id: str) -> None:
    """Append one line. Short lines of several processes do not mix."""
    with run_log.open("a", encoding="utf-8") as log:
        log.write(f"{time.time():.3f} {os.getpid()} {what} {task} {id}\n")


def noted(run_log: Path) -> Middleware:
    """Middleware that notes and paces every run."""

    async def pace(ctx: Context, run: Run) -> Any:
        task, id = ctx.message.task, ctx.message.id
        note(run_log, "start", task, id)
        try:
            await asyncio.sleep(half_of(task))
            result = await run()
            note(run_log, "done", task, id)
            await asyncio.sleep(half_of(task))
            return result
        finally:
            note(run_log, "end", task, id)

    return pace
