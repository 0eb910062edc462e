"""Messages that are large on average. Off by default."""

from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

_LAST_SECONDS = 600.0
_KIB = 1_024


def look(reading: Reading) -> Iterator[Seen]:
    """Mean size of the messages of each task."""
    for one in reading.window(_LAST_SECONDS).counted:
        if one.deliveries and one.task:
            mean = one.size / one.deliveries
            text = f"{one.deliveries} messages of {mean / _KIB:,.0f} KiB on average in 10 min"
            yield Seen(
                subject=f"{one.queue}/{one.task}", queue=one.queue, task=one.task, value=mean, samples=one.deliveries,
                evidence=text,
            )  # fmt: skip


LARGE_PAYLOAD = Detector(
    AlertSpec(
        id="large_payload",
        title="Messages are large",
        about="The messages of a task are large. Large bodies cost memory, traffic and, in the cloud, money.",
        measures="mean size of the messages of a task",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=262_144.0, clear=196_608.0, min_samples=10),),
        unit="By",
        labels=("queue", "task"),
        remedy="Keep the data elsewhere and send its address, or set a claim check",
        runbook="large_payload",
        is_on=False,
    ),
    look,
)
