"""A finding: something is wrong, with the evidence and what to do about it.

One shape for advice, anomalies, alerts, doctor and audit.
"""

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How much it matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Finding(msgspec.Struct, frozen=True):
    """`id` is stable; `evidence` are the figures; `remedy` is one sentence in the imperative."""

    id: str
    severity: Severity
    subject: str
    evidence: str
    remedy: str
