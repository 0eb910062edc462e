"""Serving: whether each queue has a worker, and whether workers that are listed are heard."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import SILENT_SECONDS, Facts
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.text.plural import plural


async def examine(facts: Facts) -> Sequence[Examination]:
    """Judge the queues that have tasks or messages, and the workers on the roster."""
    return [await _queues(facts), *([_silence(facts)] if facts.workers else [])]


async def _queues(facts: Facts) -> Examination:
    depths = await facts.access.broker.depth(facts.queues) if facts.queues else []
    waiting = {one.queue: one.ready or 0 for one in depths}
    wanted = [one for one in facts.queues if one in facts.task_queues or waiting.get(one)]
    unserved = [one for one in wanted if not facts.serving(one)]
    findings = [_unserved(queue, waiting.get(queue, 0)) for queue in unserved]
    if not facts.workers and not facts.consumers and not findings:
        remedy = "Start one: tenure worker jobs:app"
        evidence = "no worker is alive: what is sent now will wait"
        findings.append(Finding("no_worker", Severity.WARNING, "workers", evidence, remedy))
    workers = plural(len(facts.workers), "worker")
    consumers = f" and {plural(len(facts.consumers), 'HTTP consumer')}" if facts.consumers else ""
    return Examination(
        id="queues_served", area=Area.WORKERS, title="queues served", findings=tuple(findings),
        seen=f"{len(wanted) - len(unserved)} of {plural(len(wanted), 'queue')} by {workers}{consumers}",
    )  # fmt: skip


def _unserved(queue: str, waiting: int) -> Finding:
    severity = Severity.CRITICAL if waiting else Severity.WARNING
    evidence = f"no worker serves it, and {plural(waiting, 'message')} {'waits' if waiting == 1 else 'wait'}"
    remedy = f"Start a worker for it: tenure worker jobs:app --queue {queue}"
    return Finding("queue_unserved", severity, f"queue {queue}", evidence if waiting else "no worker serves it", remedy)


def _silence(facts: Facts) -> Examination:
    silent = [one for one in facts.workers if one.silent_seconds > SILENT_SECONDS]
    heard, workers = len(facts.workers) - len(silent), plural(len(facts.workers), "worker")
    findings = tuple(
        Finding(
            "worker_silent",
            Severity.WARNING,
            f"worker {one.owner.id}",
            f"it was not heard for {one.silent_seconds:,.0f} s: frozen, cut off from the store, or dead without proof",
            f"Look at process {one.owner.pid} on {one.owner.host or 'its host'}; its leases return when they end",
        )
        for one in silent
    )
    return Examination(
        id="workers_heard", area=Area.WORKERS, title="workers heard", findings=findings,
        seen=f"{heard} of {workers} within {SILENT_SECONDS:.0f} s",
    )  # fmt: skip
