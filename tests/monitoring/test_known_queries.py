"""What queries and alert rules that exist elsewhere read is there: each name, and each field of it."""

import pytest

from tenure.monitoring.catalogue import ALERTS, EVENT_ALIASES, EVENTS, METRIC_ALIASES, AlertSeverity, Vocabulary
from tenure.monitoring.catalogue.events import ENVELOPE
from tenure.monitoring.flat import NAME_FIELDS

_INSIGHTS, _CLOUDWATCH = Vocabulary.APP_INSIGHTS, Vocabulary.CLOUDWATCH
_OF_DELETES = {"message_id", "container", "success", "result", "duration_ms", "retry_attempts"}
_OF_BEATS = {"job_id", "extension_count", "total_extended_seconds"}

#: By name, the fields that queries filter by, count and show.
_READ = [
    (_INSIGHTS, "message_received", {"message_id", "container", "dequeue_count", "correlation_id"}),
    (_INSIGHTS, "message_processed", {"message_id", "container", "duration_ms", "visibility_timeout", "timeout_risk"}),
    (_INSIGHTS, "message_deletion", _OF_DELETES),
    (_INSIGHTS, "message_deleted", _OF_DELETES),
    (_INSIGHTS, "duplicate_detected", {"message_id", "container", "correlation_id"}),
    (_INSIGHTS, "finding_fired", {"alert", "subject", "severity", "evidence"}),
    (_INSIGHTS, "finding_cleared", {"alert", "subject", "severity", "evidence"}),
    (_CLOUDWATCH, "heartbeat_started", {"job_id"}),
    (_CLOUDWATCH, "heartbeat_extended", {*_OF_BEATS, "extension_seconds"}),
    (_CLOUDWATCH, "heartbeat_stats", {*_OF_BEATS, "is_running", "last_error"}),
    (_CLOUDWATCH, "heartbeat_extension_failed", {"job_id", "error_message"}),
    (_CLOUDWATCH, "file_size_detected", {"job_id", "file_size_bytes", "file_size_mb", "estimated_processing_seconds"}),
    (_CLOUDWATCH, "job_already_running", {"job_id"}),
    (_CLOUDWATCH, "job_already_finished", {"job_id"}),
]  # fmt: skip


@pytest.mark.parametrize(("vocabulary", "name", "fields"), _READ, ids=lambda value: value if type(value) is str else "")
def test_each_field_that_a_query_reads_is_in_the_record(vocabulary: Vocabulary, name: str, fields: set[str]) -> None:
    (alias,) = [one for one in EVENT_ALIASES if (one.vocabulary, one.name) == (vocabulary, name)]
    spec = next(spec for spec in EVENTS if spec.name == alias.of)
    renamed = {field.of: field.name for field in alias.fields}
    written = {renamed.get(field.name, field.name) for field in (*ENVELOPE, *spec.fields)}
    written |= {alias.each[1]} if alias.each else set()
    assert fields <= written


def test_no_other_name_is_written() -> None:
    assert {(one.vocabulary, one.name) for one in EVENT_ALIASES} == {(of, name) for of, name, _ in _READ}
    assert NAME_FIELDS[_CLOUDWATCH] == "event_type"


def test_each_metric_that_an_alert_rule_reads_has_a_formula() -> None:
    assert {one.name for one in METRIC_ALIASES if one.vocabulary is _INSIGHTS} >= {
        "processing_duration_ms", "duplicate_detection_rate", "deletion_failure_rate", "timeout_utilization_high"
    }  # fmt: skip
    sizes = {"ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"}
    assert {one.name for one in METRIC_ALIASES if one.vocabulary is _CLOUDWATCH} == sizes


@pytest.mark.parametrize(
    ("alert", "severity", "fire"),
    [
        ("duplicates", AlertSeverity.SHOW, 0.0),
        ("duplicates", AlertSeverity.PAGE, 0.05),
        ("deletion_failures", AlertSeverity.TICKET, 0.01),
        ("deletion_failures", AlertSeverity.PAGE, 0.02),
        ("lease_use", AlertSeverity.TICKET, 0.8),
        ("lease_use", AlertSeverity.PAGE, 0.9),
    ],
)
def test_alerts_fire_where_those_rules_do(alert: str, severity: AlertSeverity, fire: float) -> None:
    (spec,) = [one for one in ALERTS if one.id == alert]
    assert [level.fire for level in spec.levels if level.severity is severity] == [fire]
