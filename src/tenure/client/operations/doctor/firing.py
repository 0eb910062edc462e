"""Alerts: whether they are judged at all, and which fire now."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.client.operations.findings import FindingOperations, FindingStatus
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.monitoring.catalogue import AlertSeverity

_SEVERITIES = {
    AlertSeverity.PAGE: Severity.CRITICAL,
    AlertSeverity.TICKET: Severity.WARNING,
    AlertSeverity.SHOW: Severity.INFO,
}


async def examine(facts: Facts) -> Sequence[Examination]:
    """Take over what fires and is neither acknowledged nor silenced."""
    found = await FindingOperations(facts.access).findings()
    open_ = [one for one in found.findings if one.firing and one.acked_by is None and one.silenced_until is None]
    findings = [_finding(one) for one in open_]
    is_off = facts.access.settings.alerts == ("off",)
    if not found.is_judged and facts.workers and found.judged_at is not None and not is_off:
        evidence = "workers are alive, and none has judged alerts for five minutes"
        remedy = "Look at the logs of the workers for tenure.alerting; upgrade those that are older"
        findings.append(Finding("alerts_unjudged", Severity.WARNING, "alerts", evidence, remedy))
    settling = "; some are judged once the figures have settled" if found.settling_until is not None else ""
    seen = "switched off" if is_off else f"{len(open_)} fire{settling}" if found.is_judged else "not judged yet"
    return [Examination(id="alerts", area=Area.WORKERS, title="alerts", seen=seen, findings=tuple(findings))]


def _finding(one: FindingStatus) -> Finding:
    remedy = f"{one.remedy.rstrip('.')} (tenure findings)"
    return Finding(f"alert_{one.alert}", _SEVERITIES[one.severity], one.subject or "store", one.evidence, remedy)
