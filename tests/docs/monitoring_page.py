"""The reference of monitoring, made from the catalogue.

    python -m tests.docs.monitoring_page > docs/reference/monitoring.md

`test_monitoring_page.py` fails while the page is not what this prints.
"""

import sys
from collections.abc import Iterable, Iterator

from tenure.monitoring.catalogue import (
    ALERTS,
    EVENT_ALIASES,
    EVENTS,
    LABELS,
    METRIC_ALIASES,
    METRICS,
    AlertSpec,
    Alias,
    Detail,
    EventSpec,
    FieldSpec,
    MetricSpec,
    Vocabulary,
)
from tenure.monitoring.catalogue.events import ENVELOPE

_HEAD = """\
# Monitoring

Everything that Tenure tells the outside about itself: events, metrics and their labels, alerts, and the names that
other systems have for them. This page is made from `tenure.monitoring.catalogue`, and a test compares the catalogue
with what a worker really emits. What events mean, with examples: [events](events.md). How to log them:
[logs](../how-to/log.md).
"""
_EVENTS = """
## Fields of every event

As `tenure.sinks.LogEvents` and `--log-events tenure` write an event, `kind` is called `event`, `at` is the record's own
time, and the fields of a kind stand beside these. `schema` is the number that stands with the kind.

"""
_STEPS = """
## Events
"""
_METRICS = """
## Metrics

Counters end in `_total`; histograms are counted in buckets by Prometheus and OpenTelemetry alike.

| metric | kind | unit | labels | OpenTelemetry | what it is |
|---|---|---|---|---|---|
"""
_LABELS = """
## Labels

| label | what it is | what bounds the number of its values |
|---|---|---|
"""
_ALERTS = """
## Alerts

An alert fires above its level and clears at or below the second figure. A stronger level replaces a milder one.

| alert | measures | levels | runbook |
|---|---|---|---|
"""
_ALIASES = """
## Names of other systems

`--log-events app_insights` and `--log-events cloudwatch` write events under these names. A field that is not named here
keeps our name; a name of ours that is not in the table is not written.

A metric of theirs is computed of ours, by the system that keeps the figures: Tenure does not export it. The formulas
are PromQL. `tenure:duplicates` and the like are recorded by the [rules](../how-to/get-alerted.md) for Prometheus.
A system that keeps events and no metrics counts the events above. [Known queries](known-queries.md) says what queries
and alerts under these names are here.

"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD, _EVENTS, *_fields(ENVELOPE), _STEPS]
    for spec in EVENTS:
        parts += _event(spec)
    parts += [_METRICS, *map(_metric, METRICS), _LABELS]
    parts += [f"| `{one.name}` | {_cell(one.about)} | {_cell(one.bounded_by)} |\n" for one in LABELS]
    parts += [_ALERTS, *map(_alert, ALERTS), _ALIASES]
    for vocabulary in Vocabulary:
        parts += _names(vocabulary)
    return "".join(parts).rstrip("\n") + "\n"


def _event(spec: EventSpec) -> Iterator[str]:
    yield f"\n### `{spec.name}`\n\n{spec.about}"
    when = " In [detail](events.md#in-detail)." if spec.detail is Detail.SAMPLED else ""
    yield f"{when} Since {spec.since}, schema {spec.schema}.\n"
    if spec.fields:
        yield "\n"
        yield from _fields(spec.fields)


def _fields(fields: Iterable[FieldSpec]) -> Iterator[str]:
    yield "| field | type | unit | what it is |\n|---|---|---|---|\n"
    for one in fields:
        perhaps = " (not in every one)" if one.is_optional else ""
        yield f"| `{one.name}` | {one.type.value} | {_unit(one.unit)} | {_cell(one.about)}{perhaps} |\n"


def _unit(unit: str | None) -> str:
    return "" if unit is None else f"`{unit}`"


def _metric(spec: MetricSpec) -> str:
    labels = ", ".join(f"`{name}`" for name in spec.labels)
    otel = "" if spec.otel is None else f"`{spec.otel}`"
    return f"| `{spec.name}` | {spec.kind.value} | {_unit(spec.unit)} | {labels} | {otel} | {_cell(spec.about)} |\n"


def _alert(spec: AlertSpec) -> str:
    levels = "; ".join(
        f"{one.severity.value} above {one.fire:g} (clear {one.clear:g})"
        + (f" for {one.for_seconds:g} s" if one.for_seconds else "")
        + (f", of {one.min_samples} at least" if one.min_samples else "")
        for one in spec.levels
    )
    return (
        f"| `{spec.id}`: {_cell(spec.title)} | {_cell(spec.measures)}, `{spec.unit}` | {levels} | `{spec.runbook}` |\n"
    )


def _names(vocabulary: Vocabulary) -> Iterator[str]:
    yield f"### `{vocabulary.value}`\n\n| their name | ours | fields |\n|---|---|---|\n"
    for one in EVENT_ALIASES:
        if one.vocabulary is vocabulary:
            yield f"| `{one.name}` | `{one.of}`{_condition(one)} | {_renamed(one)} |\n"
    yield "\n| their metric | of ours | what it is |\n|---|---|---|\n"
    for metric in METRIC_ALIASES:
        if metric.vocabulary is vocabulary:
            yield f"| `{metric.name}` | `{_cell(metric.expr)}` | {_cell(metric.about)} |\n"
    yield "\n"


def _condition(alias: Alias) -> str:
    said = [f"`{name}` is {' or '.join(f'`{value}`' for value in values)}" for name, values in alias.when.items()]
    return f", where {' and '.join(said)}" if said else ""


def _renamed(alias: Alias) -> str:
    said = [f"`{one.name}` is `{one.of}`{_scaled(one.scale)}{_worded(one.values)}" for one in alias.fields]
    if alias.each is not None:
        said.append(f"one record for each of `{alias.each[0]}`, as `{alias.each[1]}`")
    return "; ".join(said)


def _scaled(scale: float | None) -> str:
    return "" if scale is None else f" × {scale:g}"


def _worded(values: object) -> str:
    if not isinstance(values, dict) or not values:
        return ""
    return f" ({', '.join(f'{_word(ours)}: {_word(theirs)}' for ours, theirs in values.items())})"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
