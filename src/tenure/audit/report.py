"""The result of an audit: findings with their places, and every queue operation as the baseline.

Made by `auditing.py`; shown by `cli/commands/audit.py` and `sarif.py`.
"""

import msgspec

from tenure.finding import Finding, Severity

#: From harmless to bad.
ORDER = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)


class Located(msgspec.Struct, frozen=True):
    """A finding and where it is. Lines and columns count from 1; the end is behind the last character."""

    finding: Finding
    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> str:
        """`worker.py:12:8`, as editors and terminals open it."""
        return f"{self.path}:{self.line}:{self.column}"


class Operation(msgspec.Struct, frozen=True):
    """One queue operation: a row of the baseline."""

    #: receive, delete, extend or send.
    kind: str
    #: sqs, azure or redis.
    vendor: str
    #: As it is written: `self.sqs.receive_message`.
    call: str
    path: str
    line: int
    column: int
    #: None: there is none, or it is known at run time only.
    timeout_seconds: float | None
    #: "600 s", "default", the expression it comes from, or "–" where there is no such thing.
    timeout: str
    #: A service with a known profile, by `CONTAINER_NAME` or the path. None: not recognised.
    service: str | None
    recommendation: str


class Report(msgspec.Struct, frozen=True):
    """The whole of it, in the order of paths and lines."""

    findings: tuple[Located, ...]
    operations: tuple[Operation, ...]
    files: int
    lines: int
    #: How many findings a comment ignores.
    ignored: int
    #: How many files of test code were not read.
    tests_left_out: int = 0

    def count(self, severity: Severity) -> int:
        """Count the findings of that severity."""
        return sum(located.finding.severity is severity for located in self.findings)

    def has_from(self, severity: Severity) -> bool:
        """Whether a finding is as bad as that, or worse."""
        return any(map(self.count, ORDER[ORDER.index(severity) :]))
