"""One worker process under measurement: `python -m benchmarks.monitoring_part.worker ARM COUNT`.

It fills the queue, prints `ready` and the address of its metrics, empties the queue, and prints one line of JSON. Arms:

- `off`: nothing is counted at all, which no setting of users does.
- `none`: as users have it, with nothing configured.
- `prometheus`: its metrics are served, and somebody scrapes them.
- `headers`: as `none`, with the contexts of `traced` in the messages.
- `recorded`: as `traced`, with `only_recorded`, so that the others carry no context.
- `traced`: instrumented, with an SDK that exports to memory; each message has a context, one of a hundred is recorded.
"""

import asyncio
import json
import os
import random
import sys
import time

import msgspec

from benchmarks.worker_main import own_cpu
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id
from tenure.runtime.worker import Worker

CONCURRENCY = 100
_BATCH = 1_000
_SAMPLED = 0.01


def _app() -> Tenure:
    app = Tenure(os.environ["TENURE_BENCH_URL"])

    @app.task
    async def noop(n: int) -> int:
        return n

    return app


def _instrument(app: Tenure, arm: str) -> None:
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - of one arm
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415

    from tenure.monitoring.otel import instrument  # noqa: PLC0415

    provider = TracerProvider(sampler=ParentBasedTraceIdRatio(_SAMPLED))
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    instrument(app, tracer_provider=provider, only_recorded=arm == "recorded")


def _headers(arm: str, draw: random.Random) -> dict[str, str]:
    if arm not in {"headers", "traced", "recorded"}:
        return {}
    flags = "01" if draw.random() < _SAMPLED else "00"
    if arm == "recorded" and flags == "00":
        return {}
    return {"traceparent": f"00-{draw.getrandbits(128):032x}-{draw.getrandbits(64):016x}-{flags}"}


async def _fill(app: Tenure, count: int, arm: str) -> None:
    body, draw = msgspec.Raw(b'{"n":1}'), random.Random(1)
    for first in range(0, count, _BATCH):
        wall = time.time()
        await app.send([
            Outgoing(Message(
                id=new_id(wall), queue=app.queue, task="noop", body=body, sent_at=wall, headers=_headers(arm, draw),
            ))
            for _ in range(min(_BATCH, count - first))
        ])  # fmt: skip


def _worker(app: Tenure, arm: str) -> Worker:
    worker = app.worker(concurrency=CONCURRENCY, metrics="127.0.0.1:0" if arm == "prometheus" else "")
    if arm == "off":
        worker._options = msgspec.structs.replace(worker._options, statistics=False)  # noqa: SLF001 - no user's option
    return worker


async def _main(arm: str, count: int) -> None:
    async with (app := _app()):
        await _fill(app, count, arm)
        if arm in {"traced", "recorded"}:
            _instrument(app, arm)
        worker = _worker(app, arm)
        await worker.start()
        print("ready", flush=True)
        print(worker.metrics_url or "", flush=True)
        cpu, began, before = own_cpu(), time.perf_counter(), worker.counts.get("completed", 0)
        while worker.counts.get("completed", 0) < count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
        left = count - before
        answer = {"cpu_us": (own_cpu() - cpu) / left * 1e6, "rate": left / (time.perf_counter() - began)}
        worker.ask_to_stop()
        await worker.stop()
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
