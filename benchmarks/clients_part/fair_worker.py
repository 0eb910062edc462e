"""One worker process that serves all clients, under measurement.

    python -m benchmarks.clients_part.fair_worker wait SECONDS | share SECONDS fair | share SECONDS in-turn

`wait` says how long messages waited for their handler. `share` says which client's handlers ran when, with four slots;
`in-turn`: without the sharing of time, as a lease call for each queue in turn would do it. Prints one line of JSON.
"""

import asyncio
import json
import sys
import time
from typing import Any

from benchmarks import worker_main
from benchmarks.tasks import app
from tenure import Context
from tenure.runtime.worker import Worker

#: When each handler ended, for whom it worked, and how long.
_ended: list[tuple[float, str, float]] = []
_SLOTS = 4


@app.task
async def work(ctx: Context, seconds: float) -> None:
    """Work for a client."""
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    now = time.perf_counter()
    _ended.append((now, ctx.message.client or "", now - began))


async def _share(seconds: float, how: str) -> dict[str, Any]:
    worker: Worker = app.worker(concurrency=_SLOTS, clients="all")
    await worker.start()
    worker._path.turns.is_on = how == "fair"  # noqa: SLF001 - no setting turns it off
    start = time.perf_counter()
    await asyncio.sleep(seconds)
    answer = [[round(at - start, 3), client, round(worked, 4)] for at, client, worked in _ended]
    worker.ask_to_stop()
    await worker.stop()
    return {"ended": answer}


async def _main(what: str, seconds: str, how: str = "") -> None:
    async with app:
        if what == "share":
            answer = await _share(float(seconds), how)
        else:
            answer = await worker_main.wait(app.worker(concurrency=10, clients="all"), float(seconds))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
