"""What is kept of one alert and subject: since when, its value, who has seen it, until when it is silenced.

One key-value of kind `KIND` each, under `AlertState.name`. Written when something changes, and once a minute while it
fires; a cleared one is kept for a day. Fields are only added, each with a default.
"""

import msgspec

from tenure.monitoring.catalogue.spec import AlertSeverity

KIND = "finding"
#: What the evaluator itself keeps, under the empty name: when it last judged, and since when without a gap.
EVALUATOR_KIND = "finding-evaluator"
#: A finding that has cleared is kept for so long.
KEPT_SECONDS = 86_400.0

_RANK = {AlertSeverity.SHOW: 1, AlertSeverity.TICKET: 2, AlertSeverity.PAGE: 3}


def rank(severity: AlertSeverity | None) -> int:
    """The stronger, the higher. None: 0."""
    return 0 if severity is None else _RANK[severity]


class AlertState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One alert and subject. Wall times by the store's clock."""

    alert: str
    subject: str = ""
    queue: str | None = None
    task: str | None = None
    message_id: str | None = None
    #: The level at which it fires. None: it does not, yet or any more.
    severity: AlertSeverity | None = None
    #: By level: since when what it measures is above the threshold.
    above_since: dict[str, float] = {}
    #: When it began to fire. None: it never did.
    fired_at: float | None = None
    cleared_at: float | None = None
    value: float = 0.0
    evidence: str = ""
    #: When this was last measured.
    seen_at: float = 0.0
    acked_by: str | None = None
    acked_at: float | None = None
    #: The level that was acknowledged: a stronger one sends a notice again.
    acked_severity: AlertSeverity | None = None
    silenced_by: str | None = None
    silenced_until: float | None = None

    @property
    def name(self) -> str:
        """Names it for people and in the store: `oldest_age@mail-tasks`."""
        return name_of(self.alert, self.subject)

    @property
    def is_firing(self) -> bool:
        """Whether it fires now."""
        return self.severity is not None

    def is_silenced(self, now: float) -> bool:
        """Whether it is silenced at `now`."""
        return self.silenced_until is not None and now < self.silenced_until

    def is_acked(self) -> bool:
        """Whether a person has seen it as it is now."""
        return self.acked_by is not None and rank(self.severity) <= rank(self.acked_severity)


class Evaluator(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the evaluator keeps of itself."""

    #: When it last judged.
    at: float = 0.0
    #: Since when it judges without a gap.
    since: float = 0.0
    #: The process that does.
    by: str = ""


def name_of(alert: str, subject: str) -> str:
    """The name of a finding."""
    return f"{alert}@{subject}" if subject else alert
