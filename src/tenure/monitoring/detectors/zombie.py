"""Leases whose holder is gone or silent: overdue ones that no sweep returned, and those of workers that say nothing."""

from collections import Counter
from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.text.plural import plural

_SILENT_SECONDS = 60.0
#: An overdue lease is returned by the next sweep; this many intervals later it should be.
_INTERVALS = 3.0


def look(reading: Reading) -> Iterator[Seen]:
    """How many leases each of them holds."""
    workers = {one.id: one for one in reading.workers}
    overdue_after = _INTERVALS * reading.sweep_interval_seconds
    held: Counter[str] = Counter()
    why: dict[str, str] = {}
    for lease in reading.leases:
        worker = workers.get(lease.owner)
        if lease.deadline_in < -overdue_after:
            why.setdefault(lease.owner, f"overdue for {-lease.deadline_in:.0f} s, and not returned")
        elif worker is not None and not worker.is_alive:
            why.setdefault(lease.owner, "their worker is dead")
        elif worker is not None and worker.silent_seconds > _SILENT_SECONDS:
            why.setdefault(lease.owner, f"their worker was silent for {worker.silent_seconds:.0f} s")
        else:
            continue
        held[lease.owner] += 1
    for owner, number in held.items():
        yield Seen(subject=owner, value=number, evidence=f"{plural(number, 'lease')}: {why[owner]}")


ZOMBIE = Detector(
    AlertSpec(
        id="zombie",
        title="Leases of a dead or silent worker",
        about="Messages are leased to a worker that is dead or says nothing. They run again when the lease is over.",
        measures="leases that such a worker holds",
        levels=(AlertLevel(AlertSeverity.TICKET, fire=0.0, clear=0.0, for_seconds=60.0),),
        unit="{lease}",
        labels=("worker",),
        remedy="Look at the worker's machine. If it is frozen, end it: its leases are returned then",
        runbook="zombie",
    ),
    look,
)
