"""Timing: leases and limits against the durations that were measured, as `tenure timing` judges them."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.client.operations.timing import TimingOperations
from tenure.examination import Area, Examination
from tenure.finding import Severity
from tenure.text.plural import plural


async def examine(facts: Facts) -> Sequence[Examination]:
    """Take over what the advice on leases warns of; its good signs and hints stay with `tenure timing`."""
    report = await TimingOperations(facts.access).timing()
    findings = tuple(one for one in report.findings if one.severity is not Severity.INFO)
    measured = sum(one.durations is not None for one in report.tasks)
    return [
        Examination(
            id="timing", area=Area.TIMING, title="leases and durations", findings=findings,
            seen=f"{plural(measured, 'task')} measured within a day",
        )
    ]  # fmt: skip
