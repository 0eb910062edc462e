"""Queries of Logs Insights parse, read only fields that are written, and answer the figures of known work."""

import pytest
from tests.monitoring.render.logs_insights_language import NotLogsInsights, Row, read, run, timed
from tests.monitoring.render.played import played

from tenure.cli.logs import _ABOUT, _OUTCOME, _RELATED
from tenure.monitoring.catalogue import EVENT_ALIASES, EVENTS, Vocabulary
from tenure.monitoring.catalogue.events import ENVELOPE
from tenure.monitoring.render.logs_insights import QUERIES, logs_insights_files

_TEXTS = {one.id: one.text for one in QUERIES}
#: Of every line (`cli/logs.py`), and what CloudWatch adds.
_OF_LINES = {"@timestamp", "at", "level", "logger", "message", *_ABOUT, *_OUTCOME, *_RELATED}
_OF_FINDINGS = {"change", "alert", "subject", "severity", "evidence"}


def answer(id: str) -> list[Row]:
    return run(_TEXTS[id], [timed(line) for line in played().lines])


def _written() -> set[str]:
    found = {"event_type"}
    for alias in (one for one in EVENT_ALIASES if one.vocabulary is Vocabulary.CLOUDWATCH):
        spec = next(one for one in EVENTS if one.name == alias.of)
        renamed = {field.of: field.name for field in alias.fields}
        found |= {renamed.get(field.name, field.name) for field in (*ENVELOPE, *spec.fields)}
        found |= {alias.each[1]} if alias.each else set()
    return found


@pytest.mark.parametrize("id", _TEXTS)
def test_a_query_parses_and_reads_only_fields_that_are_written(id: str) -> None:
    assert read(_TEXTS[id]).reads <= _written() | _OF_LINES | _OF_FINDINGS


@pytest.mark.parametrize("id", _TEXTS)
def test_a_query_asks_for_events_by_names_that_are_written(id: str) -> None:
    names = {one.name for one in EVENT_ALIASES if one.vocabulary is Vocabulary.CLOUDWATCH}
    asked = {word.strip('",[]()') for word in _TEXTS[id].split() if '"' in word}
    assert {word for word in asked if word.startswith(("heartbeat", "job_", "file"))} <= names


def test_a_file_with_its_comment_parses() -> None:
    for one in logs_insights_files():
        assert one.text.startswith("# ")
        assert read(one.text).commands


@pytest.mark.parametrize(
    ("query", "told"),
    [
        # As the third query was first written down.
        ('filter event_type = "job_already_running" | count() by job_id | filter count > 1', "no command 'count'"),
        ("stats median(extension_count)", "no function 'median'"),
        ("fields @timestamp | where x = 1", "no command 'where'"),
        ("filter x == 1", "unexpected '='"),
        ("stats count(*) by bin(1h", "expected ')'"),
        ("filter event_type in ['a', 'b'", "expected ']'"),
        ("sort @timestamp", "expected 'asc'"),
        ("filter level = ", "unexpected"),
        ("fields a; fields b", "unexpected ';'"),
    ],
)
def test_what_logs_insights_does_not_know_is_an_error(query: str, told: str) -> None:
    with pytest.raises(NotLogsInsights, match=told.replace("(", r"\(").replace(")", r"\)").replace("]", r"\]")):
        read(query)


def test_a_field_that_is_not_written_is_found() -> None:
    assert not read("fields extention_count | limit 1").reads <= _written() | _OF_LINES


def test_the_fields_of_findings_are_those_of_their_lines() -> None:
    line = next(one for one in played().lines if one["logger"] == "tenure.alerting")
    assert line.keys() >= _OF_FINDINGS


def test_one_heartbeat_failed() -> None:
    (found,) = answer("failed-heartbeats")
    assert found.keys() == {"@timestamp", "job_id", "owner", "error_message"}
    assert "broker.touch" in found["error_message"]


def test_renewals_of_runs_are_those_of_their_leases() -> None:
    # A run of 100 s on a lease of 30 s is renewed every 10 s. In one, two beats failed and were made up for.
    (found,) = [row for row in answer("heartbeat-statistics") if row["task"] == "transcode"]
    assert (found["jobs"], found["max_extensions"]) == (3, 10)
    assert found["avg_extensions"] == pytest.approx(29 / 3)
    assert found["avg_extended_seconds"] == pytest.approx(30 * 29 / 3)
    renewed = [row["renewals"] for row in answer("lease-renewals") if row["task"] == "transcode"]
    assert renewed == [29]


def test_four_times_a_job_came_again() -> None:
    rows = answer("duplicate-processing")
    assert [row["times"] for row in rows] == [1, 1, 1, 1]
    kinds = [row["event_type"] for row in rows]
    assert (kinds.count("job_already_running"), kinds.count("job_already_finished")) == (1, 3)


def test_the_job_whose_worker_died_began_twice_and_ended_once() -> None:
    (found,) = answer("unfinished-jobs")
    assert (found["task"], found["starts"], found["ends"]) == ("content-processor", 2, 1)


def test_sizes_are_told_by_task() -> None:
    (found,) = answer("file-sizes")
    assert (found["task"], found["jobs"], found["avg_mb"], found["max_mb"]) == ("transcode", 3, 4, 6)


def test_the_timeline_of_a_job_has_its_events_and_its_failures_in_order() -> None:
    id = next(line["message_id"] for line in played().lines if line.get("code") == "max_attempts")
    rows = run(_TEXTS["job-timeline"].replace("JOB_ID", id), [timed(line) for line in played().lines])
    assert {row["level"] for row in rows} == {"info", "warning", "error"}
    assert [row["@timestamp"] for row in rows] == sorted(row["@timestamp"] for row in rows)


def test_attempts_that_failed_are_counted_by_reason() -> None:
    rows = [(row["task"], row["code"], row["level"], row["failures"]) for row in answer("failed-attempts")]
    assert rows == [
        ("site-publisher", "error", "warning", 1), ("site-publisher", "max_attempts", "error", 1)
    ]  # fmt: skip


def test_what_tenure_judged_is_listed() -> None:
    assert {(row["change"], row["alert"]) for row in answer("findings")} == {
        ("fired", "oldest_age"), ("cleared", "oldest_age")
    }  # fmt: skip
