"""Findings of the invented store: each level, one that was seen, one that is silenced, one that has cleared."""

from typing import Any

from tests.dashboard.invented_store import DEAD_ID, NOW

from tenure.client.operations.findings import FindingStatus
from tenure.monitoring.catalogue import AlertSeverity
from tenure.monitoring.in_force import every_detector
from tenure.server.routes.findings import FindingPage

_SPECS = {one.spec.id: one.spec for one in every_detector()}
_PAGE, _TICKET, _SHOW = AlertSeverity.PAGE, AlertSeverity.TICKET, AlertSeverity.SHOW


def findings() -> FindingPage:
    """The worst first, as the server has them."""
    rows = (
        _finding(
            "oldest_age", _PAGE, 640, "the oldest of 4,812 messages waits 1,260 s; expected: 300 s", queue="transcode"
        ),
        _finding("leases_lost", _TICKET, 1_900, "2 leases lost in 15 min", queue="mail-tasks"),
        _finding(
            "long_processing",
            _SHOW,
            3_300,
            "transcode runs for 4,120 s on gpu-3/9f21b0b0; expected: 1,830 s at most",
            subject=DEAD_ID,
            message_id=DEAD_ID,
            queue="transcode",
        ),
        _finding(
            "dead_letters",
            _TICKET,
            5_200,
            "14 messages became dead letters in 15 min; 31 are there now",
            queue="publish-site",
            acked_by="ada",
            acked_at=NOW - 4_000,
        ),
        _finding(
            "webhooks_failing",
            _SHOW,
            7_460,
            "it has failed for 124 min: no answer after 10.000 s",
            subject="northwind",
            silenced_until=NOW + 5_400,
            silenced_by="ada",
        ),
        _finding("workers_crashing", _TICKET, 21_000, "1 worker died in 15 min", firing=False, cleared_at=NOW - 19_300),
    )
    return FindingPage(findings=rows, open=3, judged_at=NOW - 8, is_judged=True, after=None)


def _finding(alert: str, severity: AlertSeverity, ago: float, evidence: str, **more: Any) -> FindingStatus:
    spec = _SPECS[alert]
    subject = more.pop("subject", more.get("queue") or "")
    given: dict[str, Any] = {
        "firing": True, "queue": None, "task": None, "message_id": None, "cleared_at": None, "acked_by": None,
        "acked_at": None, "silenced_until": None, "silenced_by": None, **more,
    }  # fmt: skip
    return FindingStatus(
        id=f"{alert}@{subject}" if subject else alert, alert=alert, title=spec.title, about=spec.about,
        severity=severity, subject=subject, since=NOW - ago, value=1.0, unit=spec.unit, evidence=evidence,
        remedy=spec.remedy, runbook=spec.runbook, **given,
    )  # fmt: skip
