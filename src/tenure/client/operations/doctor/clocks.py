"""Clocks of workers: how far each machine's wall clock is from the store's, as its worker reports it."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.skew import MOST_SKEW_SECONDS


async def examine(facts: Facts) -> Sequence[Examination]:
    """Judge the last report of each worker. Nothing, where none reports."""
    skews = {
        one: report.skew_seconds
        for one in facts.workers
        if (report := facts.report_of(one)) is not None and report.skew_seconds is not None
    }
    if not skews:
        return []
    findings = tuple(
        Finding(
            "clock_skew",
            Severity.WARNING,
            f"worker {one.owner.id}",
            f"the wall clock of {one.owner.host or 'its machine'} is {abs(skew):.1f} s "
            f"{'ahead of' if skew > 0 else 'behind'} the store's: times in its logs and events are wrong",
            "Synchronise that machine's clock (NTP)",
        )
        for one, skew in skews.items()
        if abs(skew) > MOST_SKEW_SECONDS
    )
    farthest = max(map(abs, skews.values()))
    return [
        Examination(
            id="worker_clocks", area=Area.WORKERS, title="clocks of workers", seen=f"{farthest:.1f} s off at most",
            findings=findings,
        )
    ]  # fmt: skip
