"""Notes each run, and lets it take the time that the real service would take, scaled down.

The services of a real pipeline wait for networks and models; their profiles say how long. Offline nothing waits, so a
rehearsal adds a part of that time, half before the work and half after it. Of each service one run waits to be killed:
most of them at the worst moment, when the work is done and the message is not.
"""

import asyncio
import os
import time
from collections import Counter
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


#: The run that waits to be killed: the n-th of its task to say this.
PLAN = {"collect": ("done", 4), "process": ("done", 40), "generate": ("done", 70), "build": ("start", 1)}
_HELD_SECONDS = 60.0
_said: Counter[tuple[str, str]] = Counter()


def marker(run_log: Path, task: str) -> Path:
    """There, once the service of the task was killed: it is killed once."""
    return run_log.with_name(f"killed-{task}")


def half_of(task: str) -> float:
    """Half of the seconds that one run takes; 0 for what only asks."""
    if task not in SERVICES:
        return 0.0
    return PROCESSING_TIME_ESTIMATES[SERVICES[task]]["average"] / SCALE / 2


def note(run_log: Path, what: str, task: str, id: str) -> float:
    """Append one line, and return how long the run is to wait now. Short lines of several processes do not mix."""
    with run_log.open("a", encoding="utf-8") as log:
        log.write(f"{time.time():.3f} {os.getpid()} {what} {task} {id}\n")
    _said[what, task] += 1
    waits_for_kill = PLAN.get(task) == (what, _said[what, task]) and not marker(run_log, task).exists()
    return half_of(task) + (_HELD_SECONDS if waits_for_kill else 0.0)


def noted(run_log: Path) -> Middleware:
    """Middleware that notes and paces every run."""

    async def pace(ctx: Context, run: Run) -> Any:
        task, id = ctx.message.task, ctx.message.id
        wait = note(run_log, "start", task, id)
        try:
            await asyncio.sleep(wait)
            result = await run()
            await asyncio.sleep(note(run_log, "done", task, id))
            return result
        finally:
            note(run_log, "end", task, id)

    return pace
