"""Messages in their last attempt: the next failure makes them dead letters."""

from collections import Counter
from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.text.plural import plural


def look(reading: Reading) -> Iterator[Seen]:
    """How many messages of each task run their last attempt."""
    found: Counter[tuple[str, str]] = Counter()
    for lease in reading.leases:
        most = reading.max_attempts.get(lease.task or "", reading.default_max_attempts)
        if most > 1 and lease.attempt >= most:
            found[lease.queue, lease.task or ""] += 1
    for (queue, task), number in found.items():
        verb = "runs its" if number == 1 else "run their"
        subject = f"{queue}/{task}" if task else queue
        text = f"{plural(number, 'message')} {verb} last attempt"
        yield Seen(subject=subject, queue=queue, task=task or None, value=number, evidence=text)


NEAR_DEAD_LETTERS = Detector(
    AlertSpec(
        id="near_dead_letters",
        title="Messages are near the dead letters",
        about="Messages failed again and again, and run their last attempt.",
        measures="messages that run their last attempt",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=0.0, clear=0.0, for_seconds=60.0),),
        unit="{message}",
        labels=("queue", "task"),
        remedy="Look why the attempts before failed: tenure show ID",
        runbook="near_dead_letters",
    ),
    look,
)
