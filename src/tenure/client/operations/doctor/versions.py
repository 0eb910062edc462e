"""Versions: whether the workers and this process work together."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from tenure.client.operations.doctor.facts import Facts
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.version_skew import are_neighbours, minor_of


async def examine(facts: Facts) -> Sequence[Examination]:
    """Compare each worker with the newest version that is here."""
    own = _own()
    told = {one.owner.id: report.version for one in facts.workers if (report := facts.report_of(one)) is not None}
    known = {id: said for id, said in told.items() if said is not None and minor_of(said) is not None}
    there = [*known.values(), *([own] if own is not None else [])]
    if not there:
        why = "no worker says its version, and Tenure runs from its source here"
        return [Examination(id="versions", area=Area.WORKERS, title="versions", unknown=why)]
    newest = max(there, key=lambda one: minor_of(one) or (0, 0))
    findings = [_finding(id, said, newest) for id, said in known.items() if are_neighbours(said, newest) is False]
    if own is not None and are_neighbours(own, newest) is False:
        findings.append(_finding("this process", own, newest))
    return [
        Examination(
            id="versions", area=Area.WORKERS, title="versions", findings=tuple(findings),
            seen=", ".join(sorted(set(there))) + _silent(len(facts.workers) - len(known)),
        )
    ]  # fmt: skip


def _finding(who: str, said: str, newest: str) -> Finding:
    evidence = f"it runs Tenure {said} beside {newest}: only neighbouring minor versions work together"
    subject = who if who == "this process" else f"worker {who}"
    return Finding(
        "version_skew", Severity.WARNING, subject, evidence, f"Upgrade it, one minor version at a time, to {newest}"
    )


def _silent(number: int) -> str:
    return f"; {number} of the workers do not say" if number else ""


def _own() -> str | None:
    """The version of this process. None: it runs from its source, without being installed."""
    try:
        return version("tenure")
    except PackageNotFoundError:
        return None
