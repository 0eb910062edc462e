"""A diagnosis: everything that was looked at, and what is wrong, the worst first."""

from enum import StrEnum

import msgspec

from tenure.examination import Area
from tenure.finding import Finding, Severity

#: The worst first.
ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


class Outcome(StrEnum):
    """What came of one check."""

    WELL = "well"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    #: It cannot be known from here.
    UNKNOWN = "unknown"
    #: The check itself broke off.
    FAILED = "failed"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    id: str
    area: Area
    title: str
    outcome: Outcome
    #: What was seen; of an unknown or failed check the reason.
    seen: str
    #: Ids of its findings.
    findings: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What the doctor found."""

    #: Whether there is no finding of warning or critical, and no check failed.
    healthy: bool
    #: The store, without secrets.
    store: str
    #: Unix seconds by the store's clock; of a store that is away, by this machine's.
    at: float
    checks: tuple[Check, ...]
    #: The worst first.
    findings: tuple[Finding, ...]

    def has_from(self, severity: Severity) -> bool:
        """Whether there is a finding of this severity or a worse one."""
        return any(ORDER.index(one.severity) <= ORDER.index(severity) for one in self.findings)

    @property
    def is_complete(self) -> bool:
        """Whether no check failed."""
        return all(one.outcome is not Outcome.FAILED for one in self.checks)
