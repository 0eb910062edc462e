"""Figures of scaling for a system that scales: one sending, and what became of it. Used by `command.py`."""

from tenure.app import Tenure
from tenure.client.operations.scaling import ScalingReport
from tenure.monitoring.cloudwatch.policy import TrackedService, policies, service_of
from tenure.monitoring.cloudwatch.signal import QueueSignal, figures
from tenure.monitoring.figure import FigurePublisher


async def publish(app: Tenure, publisher: FigurePublisher, report: ScalingReport) -> int:
    """Send the figures of every queue; returns how many there were."""
    found = [
        figure
        for row in report.queues
        for figure in figures(
            QueueSignal(
                queue=row.queue,
                ready=row.ready,
                leased=row.leased,
                workers_now=row.workers_now,
                desired=row.desired,
                oldest_age_seconds=row.oldest_age_seconds,
            )
        )
    ]
    if found:
        await publisher.publish(found, app.clock.wall())
    return len(found)


def policies_of(
    report: ScalingReport, service: str, *, minimum: int, maximum: int | None, cooldown_seconds: float, namespace: str
) -> object:
    """The policies of a service for the one queue of the report."""
    cluster, name = service_of(service)
    (row,) = report.queues
    return policies(
        TrackedService(
            cluster=cluster,
            service=name,
            queue=row.queue,
            namespace=namespace,
            messages_per_worker=row.messages_per_worker,
            minimum=minimum,
            maximum=maximum,
            cooldown_seconds=cooldown_seconds,
        )
    )
