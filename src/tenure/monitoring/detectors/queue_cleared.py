"""A queue that was purged or deleted within the last hour."""

from collections import Counter
from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.text.plural import plural

_KINDS = ("purged", "queue_deleted")


def look(reading: Reading) -> Iterator[Seen]:
    """Messages that were removed so, by queue."""
    removed: Counter[str] = Counter()
    by: dict[str, str] = {}
    for act in reading.acts:
        if act.kind in _KINDS and act.queue is not None:
            removed[act.queue] += act.count
            by.setdefault(act.queue, act.by)
    for queue, number in removed.items():
        if number:
            text = f"{plural(number, 'message')} removed by {by[queue] or 'an unknown person'} within an hour"
            yield Seen(subject=queue, queue=queue, value=number, evidence=text)


QUEUE_CLEARED = Detector(
    AlertSpec(
        id="queue_cleared",
        title="A queue was cleared",
        about="A queue was purged. The messages are gone; the audit log says who it was.",
        measures="messages that were removed within an hour",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=0.0, clear=0.0),),
        unit="{message}",
        labels=("queue",),
        grace_seconds=0.0,
        remedy="Look who it was, and whether it was meant: tenure acts",
        runbook="queue_cleared",
    ),
    look,
)
