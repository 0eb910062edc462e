"""TQ806: brokers of Celery, Dramatiq and RQ that keep messages in one process, or run them where they are sent."""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit


def brokers_in_memory(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ806."""
    for call in module.calls:
        full = module.full(call.func) or ""
        if full.startswith("dramatiq.") and full.endswith(".StubBroker"):
            yield Hit("TQ806", call, "StubBroker keeps its messages in the memory of this process")
        if full in ("celery.Celery", "celery.app.Celery"):
            urls = [module.constant(one.value) for one in call.keywords if one.arg in ("broker", "broker_url")]
            if any(isinstance(url, str) and url.startswith("memory:") for url in urls):
                yield Hit("TQ806", call, "the broker memory:// keeps its messages in this process")
        if full in ("rq.Queue", "rq.queue.Queue"):
            given = next((one.value for one in call.keywords if one.arg == "is_async"), None)
            if isinstance(given, ast.Constant) and given.value is False:
                yield Hit("TQ806", call, "is_async=False runs each job where it is sent, and queues none")
