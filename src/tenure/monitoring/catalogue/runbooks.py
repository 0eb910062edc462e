"""Every runbook; its page is docs/runbooks/ID.md. Each alert and detector has one, under its own id."""

from tenure.monitoring.catalogue.alerts import ALERTS
from tenure.monitoring.catalogue.spec import RunbookSpec

#: Of `monitoring/detectors`, which stand on this catalogue.
_OF_DETECTORS = (
    RunbookSpec("long_processing", "A run takes very long"),
    RunbookSpec("near_dead_letters", "Messages are near the dead letters"),
    RunbookSpec("zombie", "Leases of a dead or silent worker"),
    RunbookSpec("bulk_act", "Very many messages at once"),
    RunbookSpec("queue_cleared", "A queue was cleared"),
    RunbookSpec("dead_letter_movement", "Dead letters are moved"),
    RunbookSpec("flash", "A queue was filled and emptied at once"),
    RunbookSpec("burst", "Much more is sent than usual"),
    RunbookSpec("large_payload", "Messages are large"),
)

RUNBOOKS: tuple[RunbookSpec, ...] = (*(RunbookSpec(alert.id, alert.title) for alert in ALERTS), *_OF_DETECTORS)
