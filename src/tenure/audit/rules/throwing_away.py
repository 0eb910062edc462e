"""TQ805 and TQ806: settings of RQ, Dramatiq and Celery by which a job is gone once it failed, or with its process."""

from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.rule import Hit
from tenure.audit.tree import last_name

_RQ = {"enqueue", "enqueue_in", "enqueue_at", "enqueue_call", "create", "job", "prepare_data"}


def failed_jobs_dropped(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ805."""
    if not module.imports_any("rq"):
        return
    for call in module.calls:
        given = next((one.value for one in call.keywords if one.arg == "failure_ttl"), None)
        if given is not None and last_name(call) in _RQ and module.seconds(given) == 0:
            yield Hit("TQ805", call, f"{last_name(call)} is given failure_ttl=0")


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
