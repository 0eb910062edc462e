"""What an entry of the catalogue has: one frozen struct for each kind.

Names are promises. A field may be added; a name or a unit never changes, it gets a successor.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class FieldType(StrEnum):
    """What a field's value is in JSON."""

    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    LIST = "list"
    OBJECT = "object"


class Detail(StrEnum):
    """When an event is emitted."""

    #: Each time it happens.
    ALWAYS = "always"
    #: Only where detail is asked for, for a part of the messages; each carries `sample_weight`.
    SAMPLED = "sampled"


class MetricKind(StrEnum):
    """How a metric's values behave."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class AlertSeverity(StrEnum):
    """Who has to look, and when."""

    #: A person must act now.
    PAGE = "page"
    #: A person must act within days.
    TICKET = "ticket"
    #: Worth seeing; no act is needed.
    SHOW = "show"


class Vocabulary(StrEnum):
    """Names that existing queries, alerts and dashboards use for the same facts."""

    #: Application Insights: `message_received`, `message_deletion`; fields in `customDimensions`.
    APP_INSIGHTS = "app_insights"
    #: Flat JSON with `event_type` and `job_id`, as CloudWatch Logs Insights reads it.
    CLOUDWATCH = "cloudwatch"


class FieldSpec(msgspec.Struct, frozen=True):
    """One field of an event."""

    name: str
    type: FieldType
    about: str
    #: Of a number, as UCUM or OpenTelemetry writes it: `s`, `ms`, `By`, `1`.
    unit: str | None = None
    #: Not in every event of its kind.
    is_optional: bool = False


class AliasField(msgspec.Struct, frozen=True):
    """A field under another name, perhaps in another unit or in other words."""

    #: Their name.
    name: str
    #: Our name.
    of: str
    #: What our number is multiplied by: 1000 makes milliseconds of seconds.
    scale: float | None = None
    #: Our value, and theirs. What is not here stays as it is.
    values: Mapping[Any, Any] = {}


class Alias(msgspec.Struct, frozen=True):
    """Another name of an event."""

    vocabulary: Vocabulary
    #: Our name.
    of: str
    #: Their name.
    name: str
    #: A field that is not named here keeps our name.
    fields: tuple[AliasField, ...] = ()
    #: Only of events whose field has one of these values.
    when: Mapping[str, tuple[Any, ...]] = {}
    #: One for each value of this list, under this name of theirs.
    each: tuple[str, str] | None = None


class MetricAlias(msgspec.Struct, frozen=True):
    """A metric that others know, computed of ours."""

    vocabulary: Vocabulary
    #: Their name.
    name: str
    #: What it is, in PromQL. `tenure:duplicates` is what the rule of that alert compares.
    expr: str
    about: str


class EventSpec(msgspec.Struct, frozen=True):
    """One kind of event."""

    #: The value of `EventKind`.
    name: str
    #: The version that first emitted it.
    since: str
    about: str
    #: Of `data`; the others are the same for every event (`ENVELOPE`).
    fields: tuple[FieldSpec, ...] = ()
    detail: Detail = Detail.ALWAYS
    #: Of its fields. It rises when one is added.
    schema: int = 1


class MetricSpec(msgspec.Struct, frozen=True):
    """One metric."""

    #: As Prometheus writes it, with unit and `_total`.
    name: str
    kind: MetricKind
    about: str
    unit: str | None = None
    #: Names of `LabelSpec`.
    labels: tuple[str, ...] = ()
    #: The instrument's name in OpenTelemetry, if it has one there.
    otel: str | None = None
    since: str = "0.3"


class LabelSpec(msgspec.Struct, frozen=True):
    """One label of metrics."""

    name: str
    about: str
    #: What keeps the number of its values small.
    bounded_by: str
    #: All values, if they are known.
    values: tuple[str, ...] = ()


class AlertLevel(msgspec.Struct, frozen=True):
    """One level of an alert: how much it takes, and who has to look then."""

    severity: AlertSeverity
    #: It fires above this …
    fire: float
    #: … and clears at or below this.
    clear: float
    #: So long above `fire` before it fires.
    for_seconds: float = 0.0
    #: Fewer samples than these say nothing.
    min_samples: int = 0


class AlertSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One alert: what it measures, when it fires and clears, and what to read then."""

    id: str
    title: str
    about: str
    #: What is compared with the thresholds, in words.
    measures: str
    #: The mildest first. A stronger one replaces a milder one.
    levels: tuple[AlertLevel, ...]
    #: Of `fire` and `clear`: `s`, `1` (a part of a whole), or what is counted, such as `{message}`.
    unit: str
    #: One sentence in the imperative.
    remedy: str
    #: Labels that tell two of its findings apart.
    labels: tuple[str, ...] = ()
    #: What is measured is of so many last seconds. 0: of now.
    window_seconds: float = 0.0
    #: So long after a start or an outage nothing is judged.
    grace_seconds: float = 120.0
    #: Alerts that are not judged while this one fires.
    inhibits: tuple[str, ...] = ()
    #: The same in PromQL; `$window` is `window_seconds`. Empty: judged by Tenure itself only.
    expr: str = ""
    #: The number of samples in PromQL, for `min_samples`.
    samples: str = ""
    #: The id of a `RunbookSpec`.
    runbook: str
    #: False: it is judged only where a setting asks for it.
    is_on: bool = True

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of `MetricSpec` that its PromQL reads."""
        found = re.findall(r"\btenure_\w+", f"{self.expr} {self.samples}")
        return tuple(dict.fromkeys(re.sub(r"_(bucket|sum|count)$", "", name) for name in found))


class RunbookSpec(msgspec.Struct, frozen=True):
    """One page on what to do. Its text lies in the documentation under this id."""

    id: str
    title: str
