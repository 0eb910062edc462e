"""The sweep: whether overdue leases are returned, and often enough."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.client.operations.health import is_swept
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.health import late_after

_ID, _TITLE = "sweep", "sweep"


async def examine(facts: Facts) -> Sequence[Examination]:
    """Wait for a sweep up to two intervals, as `tenure health` does."""
    access = facts.access
    interval, lease = access.settings.sweep_interval_seconds, access.settings.lease_seconds
    swept = await is_swept(access)
    if swept is None:
        return [Examination(id=_ID, area=Area.WORKERS, title=_TITLE, unknown="this user may not write to the store")]
    findings: list[Finding] = []
    if not swept:
        held = bool((await access.broker.leases(await access.reachable(None), limit=1)).leases)
        evidence = f"no sweep has run for {late_after(interval):g} s: messages of a dead worker do not come back"
        remedy = "Start a worker or tenure serve: either sweeps"
        severity = Severity.CRITICAL if held else Severity.WARNING
        findings.append(Finding("sweep_missing", severity, "sweep", evidence, remedy))
    if interval > lease:
        evidence = (
            f"it runs every {interval:g} s, and a lease has {lease:g} s: a lost message waits longer than its lease"
        )
        remedy = f"Set TENURE_SWEEP_INTERVAL to {min(5.0, lease):g}"
        findings.append(Finding("sweep_slow", Severity.WARNING, "sweep", evidence, remedy))
    seen = f"every {interval:g} s" if swept else "none"
    return [Examination(id=_ID, area=Area.WORKERS, title=_TITLE, seen=seen, findings=tuple(findings))]
