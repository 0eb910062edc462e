"""Events as flat records, in our names and in those of other systems."""

from typing import Any

import pytest

from tenure.event import Event, EventKind
from tenure.monitoring.catalogue import EVENT_ALIASES, EVENTS, Vocabulary
from tenure.monitoring.catalogue.events import ENVELOPE
from tenure.monitoring.flat import records

INSIGHTS, CLOUDWATCH = Vocabulary.APP_INSIGHTS, Vocabulary.CLOUDWATCH


def _event(kind: EventKind, seconds: float | None = None, **data: Any) -> Event:
    return Event(kind, 100.0, "docs", "content-processor", "m1", "w/1", 2, seconds, data)


def test_in_our_names_an_event_is_one_record_with_its_schema() -> None:
    assert records(_event(EventKind.RETRIED, 1.5, after_seconds=2.0, code="error", reason="no")) == [
        {
            "event": "retried", "schema": 1, "queue": "docs", "task": "content-processor", "message_id": "m1",
            "owner": "w/1", "attempt": 2, "seconds": 1.5, "after_seconds": 2.0, "code": "error", "reason": "no",
        }
    ]  # fmt: skip


def test_a_received_message_tells_how_often_it_was_dequeued() -> None:
    (record,) = records(_event(EventKind.RECEIVED, deliveries=3, lease_seconds=90.0), INSIGHTS)
    assert record["event"] == "message_received"
    assert (record["message_id"], record["container"]) == ("m1", "content-processor")
    assert (record["dequeue_count"], record["visibility_timeout"]) == (3, 90.0)


def test_seconds_become_milliseconds() -> None:
    (record,) = records(_event(EventKind.PROCESSED, 1.25, lease_seconds=90.0), INSIGHTS)
    assert (record["event"], record["duration_ms"]) == ("message_processed", 1250.0)
    assert "seconds" not in record


@pytest.mark.parametrize(
    ("result", "is_failure", "names", "word"),
    [
        ("deleted", False, ["message_deletion", "message_deleted"], "success"),
        ("already_gone", False, ["message_deletion", "message_deleted"], "success"),
        ("taken_over", True, ["message_deletion"], "failed"),
        ("unknown", True, ["message_deletion"], "failed"),
    ],
)
def test_a_delete_is_a_success_or_a_failure(result: str, names: list[str], word: str, *, is_failure: bool) -> None:
    event = _event(EventKind.DELETION, result=result, is_failure=is_failure, delete_attempts=3, delete_seconds=0.25)
    told = records(event, INSIGHTS)
    assert [record["event"] for record in told] == names
    for record in told:
        assert (record["result"], record["success"]) == (word, not is_failure)
        assert (record["retry_attempts"], record["duration_ms"]) == (3, 250.0)


def test_leases_that_were_not_renewed_are_one_record_a_job() -> None:
    event = Event(EventKind.HEARTBEAT_FAILED, 100.0, owner="w/1", data={"count": 2, "ids": ["a", "b"], "error": "away"})
    told = records(event, CLOUDWATCH)
    assert [(one["event_type"], one["job_id"], one["error_message"]) for one in told] == [
        ("heartbeat_extension_failed", "a", "away"), ("heartbeat_extension_failed", "b", "away")
    ]  # fmt: skip


@pytest.mark.parametrize("code", ["running_elsewhere", "running_here"])
def test_a_message_whose_earlier_run_goes_on_is_running_already(code: str) -> None:
    (record,) = records(_event(EventKind.GIVEN_BACK, code=code, reason="", after_seconds=1.0), CLOUDWATCH)
    assert (record["event_type"], record["job_id"]) == ("job_already_running", "m1")


def test_a_message_that_is_given_back_for_another_reason_is_not_running() -> None:
    assert records(_event(EventKind.GIVEN_BACK, code="unknown_task", reason="", after_seconds=1.0), CLOUDWATCH) == []


def test_what_has_no_name_there_is_left_out() -> None:
    assert records(_event(EventKind.COMPLETED), INSIGHTS) == records(_event(EventKind.PAUSED), CLOUDWATCH) == []


def test_aliases_name_events_and_fields_that_there_are() -> None:
    fields = {spec.name: {field.name for field in (*ENVELOPE, *spec.fields)} for spec in EVENTS}
    for alias in EVENT_ALIASES:
        asked = {field.of for field in alias.fields} | set(alias.when) | ({alias.each[0]} if alias.each else set())
        assert asked <= fields[alias.of], alias


def test_no_two_fields_of_an_alias_are_one() -> None:
    for alias in EVENT_ALIASES:
        spec = next(spec for spec in EVENTS if spec.name == alias.of)
        renamed = {field.of: field.name for field in alias.fields}
        names = [renamed.get(field.name, field.name) for field in (*ENVELOPE, *spec.fields)]
        assert len(names) == len(set(names)), alias
