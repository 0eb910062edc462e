"""The catalogue: each event, metric, label, alert and runbook once, as data.

It names and describes; it emits nothing and imports nothing of Tenure but values. Exporters, sinks, rules, pages and
the reference are made from it, and a test compares it with what a worker really emits, in both directions.

One file a kind. `spec.py` says what an entry of each kind has; `aliases.py` has the names that other systems use.
"""

from tenure.monitoring.catalogue.alerts import ALERTS
from tenure.monitoring.catalogue.aliases import EVENT_ALIASES, METRIC_ALIASES
from tenure.monitoring.catalogue.events import EVENTS
from tenure.monitoring.catalogue.labels import LABELS
from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.runbooks import RUNBOOKS
from tenure.monitoring.catalogue.spec import (
    AlertLevel,
    AlertSeverity,
    AlertSpec,
    Alias,
    AliasField,
    Detail,
    EventSpec,
    FieldSpec,
    FieldType,
    LabelSpec,
    MetricAlias,
    MetricKind,
    MetricSpec,
    RunbookSpec,
    Vocabulary,
)

__all__ = [
    "ALERTS",
    "EVENTS",
    "EVENT_ALIASES",
    "LABELS",
    "METRICS",
    "METRIC_ALIASES",
    "RUNBOOKS",
    "AlertLevel",
    "AlertSeverity",
    "AlertSpec",
    "Alias",
    "AliasField",
    "Detail",
    "EventSpec",
    "FieldSpec",
    "FieldType",
    "LabelSpec",
    "MetricAlias",
    "MetricKind",
    "MetricSpec",
    "RunbookSpec",
    "Vocabulary",
]
