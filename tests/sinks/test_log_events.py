"""Events as log records: for every formatter that shows a record's own fields."""

import logging

import pytest

from tenure.config import EVENT_NAMES
from tenure.errors import ConfigurationError
from tenure.event import Event, EventKind
from tenure.monitoring.catalogue import EVENT_ALIASES, EVENTS
from tenure.monitoring.catalogue.events import ENVELOPE
from tenure.sinks.log_events import NAMES, LogEvents, event_names

STATS = Event(
    EventKind.HEARTBEAT_STATS, 1_700_000_000.25, "video", "transcode", "m1", "w/1", 1,
    data={"extension_count": 5, "total_extended_seconds": 1500.0, "is_running": False, "last_error": None},
)  # fmt: skip
RECEIVED = Event(EventKind.RECEIVED, 1_700_000_000.25, "video", "transcode", "m1", data={"deliveries": 1})


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tenure.events")


def test_the_fields_of_an_event_are_fields_of_its_record(caplog: pytest.LogCaptureFixture) -> None:
    LogEvents("cloudwatch").publish([STATS])
    (record,) = caplog.records
    assert (record.name, record.levelno, record.created) == ("tenure.events", logging.INFO, STATS.at)
    assert record.__dict__["event_type"] == "heartbeat_stats"
    assert (record.__dict__["job_id"], record.__dict__["extension_count"]) == ("m1", 5)
    assert record.__dict__["event_fields"]["total_extended_seconds"] == 1500.0
    assert record.getMessage().startswith("heartbeat_stats transcode m1 ")


def test_in_application_insights_each_record_is_a_custom_event(caplog: pytest.LogCaptureFixture) -> None:
    LogEvents("app_insights").publish([STATS, RECEIVED])
    (record,) = caplog.records
    assert record.__dict__["microsoft.custom_event.name"] == "message_received"


def test_nothing_is_made_where_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tenure.events")
    LogEvents().publish([STATS])
    assert caplog.records == []


def test_names_that_there_are_not_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="there are: tenure, app_insights, cloudwatch"):
        event_names("splunk")


def test_the_settings_know_the_same_names() -> None:
    assert sorted(NAMES) == sorted(EVENT_NAMES)


def test_no_field_hides_one_of_the_record_itself() -> None:
    record = logging.LogRecord("", 0, "", 0, "", None, None)
    own = {*record.__dict__, "message", "asctime"}
    names = {field.name for spec in EVENTS for field in (*ENVELOPE, *spec.fields)}
    names |= {field.name for alias in EVENT_ALIASES for field in alias.fields} | {"event", "event_type", "schema"}
    assert names & own == set()
