"""KQL is read by Kusto's own language service with the columns of the tables, and asks only for what is emitted."""

import re
from collections.abc import Iterator

import pytest
from tests.docs.monitoring_files import specs
from tests.monitoring.render.kusto import mistakes

from tenure.monitoring.catalogue import EVENT_ALIASES, EVENTS, LABELS, METRICS, MetricKind, Vocabulary
from tenure.monitoring.catalogue.events import ENVELOPE
from tenure.monitoring.otel.attributes import attribute_of
from tenure.monitoring.render.kql_alerts import FINDINGS, VALUES
from tenure.monitoring.render.kql_alerts import LABELS as COLUMNS
from tenure.monitoring.render.kql_queries import QUERIES
from tenure.monitoring.render.kql_tables import Tables, in_form
from tenure.monitoring.render.terraform_azure import LEFT_OUT

#: Reads KQL by a package of npm.
pytestmark = pytest.mark.cloud

_TEMPLATES = {
    **{one.id: one.text for one in QUERIES},
    **VALUES,
    "findings-alert": FINDINGS.replace("$$severity", "page").replace("$$alerts", '"oldest_age"'),
}
_WRITTEN = {
    f"{name} in {tables}": in_form(text, tables) for name, text in _TEMPLATES.items() for tables in Tables
}  # fmt: skip
#: Fields of log lines, and those that the SDK adds (`runtime/path/log_lines.py`, `runtime/alerting.py`).
_OF_LINES = {"task", "message_id", "code", "next", "change", "severity", "alert", "subject", "evidence"}


@pytest.mark.parametrize("name", _WRITTEN)
def test_a_query_has_no_mistake(name: str) -> None:
    assert mistakes(_WRITTEN[name]) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("customEvents | where nothing == 1", "'nothing' does not refer to any known column"),
        ("customEvents | where TimeGenerated > ago(1h)", "'TimeGenerated' does not refer"),
        ("AppEvents | where timestamp > ago(1h)", "'timestamp' does not refer"),
        ("AppMetrics | summarize median(Sum)", "'median' does not refer"),
        ("events | count", "'events' does not refer"),
        ("customMetrics | summarize sum(name)", "must be summable"),
    ],
)
def test_a_wrong_column_function_table_or_type_is_a_mistake(query: str, told: str) -> None:
    assert told in " ".join(mistakes(query))


@pytest.mark.parametrize(
    "query",
    [
        # As the queries were first written down: counts of a condition, and functions that Kusto does not have.
        'customEvents | where name == "message_deletion" | summarize failed = count(deletions where success == false)',
        'customEvents | summarize failed = count(result == "failed")',
        "customEvents | project timestamp | summarize received = min_of(timestamp), deleted = max_of(timestamp)",
    ],
)
def test_the_mistakes_that_were_corrected_are_found(query: str) -> None:
    assert mistakes(query)


@pytest.mark.parametrize("name", _TEMPLATES)
def test_a_query_that_is_changed_to_a_wrong_name_is_found(name: str) -> None:
    query = in_form(_TEMPLATES[name], Tables.WORKSPACE)
    column = next(one for one in ("Sum", "Properties", "Name") if one in query)
    assert f"'{column}ma' does not refer" in " ".join(mistakes(re.sub(rf"\b{column}\b", f"{column}ma", query)))


# -- names ----------------------------------------------------------------------------------------

_INSTRUMENTS = {one.otel: one for one in METRICS if one.otel is not None}


def _instruments() -> Iterator[str]:
    for name, one in _INSTRUMENTS.items():
        yield from (f"{name}.count", f"{name}.sum") if one.kind is MetricKind.HISTOGRAM else (name,)


@pytest.mark.parametrize("name", _TEMPLATES)
def test_a_query_reads_only_metrics_and_labels_that_are_exported(name: str) -> None:
    text = _TEMPLATES[name]
    labels = {attribute_of(one.name) for one in LABELS}
    bags = set(re.findall(r'\$properties\["([^"]+)"\]', text))
    assert bags <= labels
    asked = set(re.findall(r'"((?:tenure|messaging)\.[^"]+)"', text)) - bags
    assert asked <= set(_instruments())
    for instrument in asked & set(_INSTRUMENTS):
        own = {attribute_of(label) for label in _INSTRUMENTS[instrument].labels}
        if len(asked) == 1:
            assert bags <= own, instrument


@pytest.mark.parametrize("name", [name for name, text in _TEMPLATES.items() if text.startswith("$events")])
def test_a_query_reads_only_events_and_fields_that_are_written(name: str) -> None:
    text = _TEMPLATES[name]
    aliases = {one.name: one for one in EVENT_ALIASES if one.vocabulary is Vocabulary.APP_INSIGHTS}
    events = set(re.findall(r'"(message_\w+|duplicate_\w+)"', text))
    assert events
    assert events <= set(aliases)
    for event in events:
        alias = aliases[event]
        spec = next(one for one in EVENTS if one.name == alias.of)
        renamed = {field.of: field.name for field in alias.fields}
        written = {renamed.get(field.name, field.name) for field in (*ENVELOPE, *spec.fields)}
        read = set(re.findall(r"\$properties\.(\w+)", text))
        if len(events) == 1:
            assert read <= written


@pytest.mark.parametrize("name", [name for name, text in _TEMPLATES.items() if "$traces" in text])
def test_a_query_of_log_lines_reads_only_their_fields(name: str) -> None:
    assert set(re.findall(r"\$properties\.(\w+)", _TEMPLATES[name])) <= _OF_LINES


def test_the_attributes_of_queue_and_task_are_those_of_opentelemetry() -> None:
    assert in_form("$queue", Tables.WORKSPACE) == f'tostring(Properties["{attribute_of("queue")}"])'
    assert in_form("$task", Tables.WORKSPACE) == f'tostring(Properties["{attribute_of("task")}"])'


def test_every_alert_with_metrics_of_opentelemetry_is_judged_by_azure() -> None:
    exported = {one.name for one in METRICS if one.otel is not None}
    for one in specs():
        if one.id in LEFT_OUT or not one.expr:
            assert one.id not in VALUES
        elif set(one.metrics) <= exported:
            assert one.id in VALUES, one.id


def test_an_alert_has_the_columns_that_tell_its_findings_apart() -> None:
    for id, text in VALUES.items():
        last = text.rstrip().splitlines()[-1]
        for column in COLUMNS.get(id, ()):
            assert re.search(rf"\b{column}\b", last), (id, last)


def test_no_percentile_is_made_of_preaggregated_metrics_and_no_rate_of_sampled_events() -> None:
    for name, text in _TEMPLATES.items():
        if text.startswith("$metrics"):
            assert "percentile(" not in text
            assert "percentilew(" not in text
        if "rate" in name or "success" in name:
            assert text.startswith("$metrics"), name
        if text.startswith("$events") and "count()" in text:
            pytest.fail(f"{name} counts rows, and one row may stand for several")
