"""A run that takes much longer than runs of its task usually do: three times their p99, and 5 minutes at least."""

from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

_TIMES, _LEAST_SECONDS = 3.0, 300.0
#: Where nothing is known of a task.
_UNKNOWN_SECONDS = 3_600.0


def look(reading: Reading) -> Iterator[Seen]:
    """How long each run takes, over how long it may."""
    for lease in reading.leases:
        if lease.leased_at is None:
            continue
        usual = reading.usual.get((lease.queue, lease.task or ""))
        p99 = lease.predicted_seconds if usual is None or usual.run_seconds is None else usual.run_seconds
        most = _UNKNOWN_SECONDS if p99 is None else max(_LEAST_SECONDS, _TIMES * p99)
        running = reading.now - lease.leased_at
        if running > most:
            text = (
                f"{lease.task or 'a message'} runs for {running:.0f} s on {lease.owner}; expected: {most:.0f} s at most"
            )
            yield Seen(
                subject=lease.id, queue=lease.queue, task=lease.task, message_id=lease.id, value=running / most,
                evidence=text,
            )  # fmt: skip


LONG_PROCESSING = Detector(
    AlertSpec(
        id="long_processing",
        title="A run takes very long",
        about="A handler runs for much longer than runs of its task usually take. It may hang.",
        measures="run time over three times the usual p99 of the task (5 minutes at least)",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=1.0, clear=1.0), AlertLevel(AlertSeverity.TICKET, 4.0, 4.0)),
        unit="1",
        labels=("message",),
        remedy="Look at what it does: tenure stack ID. Set max_hold on the task, so that a hung run is ended",
        runbook="long_processing",
    ),
    look,
)
