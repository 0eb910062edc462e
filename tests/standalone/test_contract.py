"""What code that already has these names expects of them: its own unit tests, call by call, and the shapes it uses.

The calls, their arguments and what is asserted are seed 001's; only what it forgot is supplied: its imports, and `msg`.
None of its seven unit tests had to be changed. What else it expects is wrong, and is not met, on purpose:

    base on the mean of what was measured    half of the runs would outlive it: the 99th of 100 is the base
    `verify_message_deletion` says True      also where it cannot know; here that is None
    a success rate of 0                      before anything was deleted; here that is None, too
    the tracker always looks                 it costs two calls and mostly cannot tell: only with `verify=True`
    a table of 180 / 90 / 60 / 180           its own arithmetic gives 210 / 78 / 30 / 157; here the table holds
"""

import hashlib
import json
import logging
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from tenure.standalone.message_deduplication import DeduplicationRecord, MessageDeduplicator
from tenure.standalone.queue_message_handling import (
    MessageDeletionTracker,
    delete_message_with_retry,
    delete_queue_message_safe,
    verify_message_deletion,
)
from tenure.standalone.storage_queue_config import StorageQueueConfig
from tenure.standalone.visibility_timeout import (
    PROCESSING_TIME_ESTIMATES,
    SAFETY_BUFFER_PERCENT,
    calculate_visibility_timeout,
    get_recommended_timeout,
    validate_visibility_timeout,
)

from .grounds import async_ground

msg = SimpleNamespace(id="msg-1", pop_receipt="AgAAAAMAAAAAAAAA2Lv1q5lS2gE=")


# --- the seven unit tests -----------------------------------------------------------------------------------


def test_calculate_visibility_timeout_content_processor() -> None:
    assert calculate_visibility_timeout("content-processor") >= 90
    assert calculate_visibility_timeout("content-processor") <= 180


def test_calculate_visibility_timeout_with_custom_duration() -> None:
    assert calculate_visibility_timeout("test", custom_duration_ms=10000) >= 17


def test_validate_visibility_timeout_pass() -> None:
    assert validate_visibility_timeout(90, 45000) == True  # noqa: E712 - as it is called there


def test_validate_visibility_timeout_fail() -> None:
    assert validate_visibility_timeout(90, 75000) == False  # noqa: E712


async def test_duplicate_detection() -> None:
    dedup = MessageDeduplicator("test-container")
    await dedup.mark_processed("msg-1", "corr-1")
    is_dup, reason = await dedup.check_duplicate("msg-1", "corr-1")
    assert is_dup == True  # noqa: E712
    assert "duplicate" in (reason or "").lower()


async def test_deletion_retry_success() -> None:
    mock_client = AsyncMock()
    success, error = await delete_message_with_retry(mock_client, msg)
    assert success == True  # noqa: E712
    assert error is None
    mock_client.delete_message.assert_called_once()


async def test_deletion_retry_failure_then_success() -> None:
    mock_client = AsyncMock()
    mock_client.delete_message.side_effect = [Exception("Network error"), Exception("Network error"), None]
    success, _ = await delete_message_with_retry(mock_client, msg, max_retries=3)
    assert success == True  # noqa: E712
    assert mock_client.delete_message.call_count == 3


# --- its integration test, on the async Azure SDK -----------------------------------------------------------


@pytest.mark.real_time
async def test_end_to_end_message_processing() -> None:
    async with async_ground("azurite") as ground:
        queue_client = ground.client
        msg_id = (await queue_client.send_message("{}")).id
        # Messages as its own `receive_queue_messages` hands them out: dicts.
        found = queue_client.receive_messages(max_messages=1, visibility_timeout=30)
        messages = [{"id": one.id, "pop_receipt": one.pop_receipt, "content": one.content} async for one in found]
        assert [one["id"] for one in messages] == [msg_id]
        ground.pass_by(5)
        assert not await queue_client.peek_messages(), "still invisible"
        success, _ = await delete_message_with_retry(queue_client, messages[0], max_retries=3)
        assert success == True  # noqa: E712
        assert not await queue_client.peek_messages()
        assert await verify_message_deletion(queue_client, msg_id, "content-processor") is True


# --- shapes: arguments by place and by name, attributes, keys -----------------------------------------------


async def test_deleting_takes_its_arguments_as_they_are_written() -> None:
    named: dict[str, Any] = {"queue_client": AsyncMock(), "message": msg, "max_retries": 3, "retry_delay": 0.5}
    assert await delete_message_with_retry(**named) == (True, None)
    assert await delete_message_with_retry(AsyncMock(), msg, 3, 0.5) == (True, None)
    assert await delete_queue_message_safe(AsyncMock(), msg.id, msg.pop_receipt, 3) == (True, None)
    by_name: dict[str, Any] = {"queue_client": AsyncMock(), "message_id": "m", "pop_receipt": "r", "max_retries": 3}
    assert await delete_queue_message_safe(**by_name) == (True, None)


async def test_a_tracker_has_its_attributes_and_keys() -> None:
    tracker = MessageDeletionTracker(container_name="content-processor")
    assert await tracker.delete_and_track(queue_client=AsyncMock(), message=msg, max_retries=3) is True
    assert (tracker.container_name, tracker.total_deletions, tracker.successful_deletions) == (
        "content-processor",
        1,
        1,
    )
    assert (tracker.failed_deletions, tracker.unverified_deletions, tracker.deletion_failures) == (0, 0, {})
    counts = {"container", "total_deletions", "successful", "failed", "unverified"}
    assert counts | {"success_rate_percent", "first_failures"} <= set(tracker.get_stats())
    tracker.log_stats()


async def test_a_deduplicator_has_its_attributes_and_keys() -> None:
    dedup = MessageDeduplicator(container_name="content-processor", blob_container_client=None)
    payload_hash = hashlib.sha256(json.dumps({"a": 1}).encode()).hexdigest()
    await dedup.mark_processed(message_id="m", correlation_id="c", payload_hash=payload_hash)
    assert (await dedup.check_duplicate(message_id="m", correlation_id="c"))[0]
    assert (dedup.container_name, dedup.duplicates_detected, dedup.false_positives) == ("content-processor", 1, 0)
    assert {"container", "duplicates_detected", "cache_size", "expired_removed"} <= set(dedup.get_stats())
    dedup.log_stats()
    record = DeduplicationRecord(message_id="m", correlation_id="c", timestamp=0.0)
    assert (record.message_id, record.correlation_id, record.timestamp, record.ttl_seconds) == ("m", "c", 0.0, 3600)
    assert record.is_expired()


def test_timeouts_have_their_names_and_keys() -> None:
    assert calculate_visibility_timeout(container_name="markdown-generator") == 60
    assert calculate_visibility_timeout("markdown-generator", use_max=True) == 120
    assert validate_visibility_timeout(timeout_seconds=90, processing_time_ms=45_000.0)
    assert SAFETY_BUFFER_PERCENT == 0.75
    assert all({"min", "max", "average"} <= set(one) for one in PROCESSING_TIME_ESTIMATES.values())
    found = get_recommended_timeout("unknown", processing_times_ms=[1000.0])
    assert list(found) == ["container", "recommended_timeout_seconds", "reasoning", "safety_buffer_percent"]


def test_a_configuration_has_its_fields() -> None:
    config = StorageQueueConfig(storage_account_name="account", queue_name="queue")
    assert (config.max_wait_time, config.max_messages, config.retry_attempts, config.visibility_timeout) == (
        1,
        10,
        3,
        30,
    )
    environment = {"AZURE_STORAGE_ACCOUNT_NAME": " account ", "CONTAINER_NAME": "site-publisher"}
    found = StorageQueueConfig.from_environment(environment=environment)
    assert (found.queue_name, found.visibility_timeout) == ("content-processing-requests", 180)


# --- what queries over its logs look for --------------------------------------------------------------------


def _told(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if getattr(record, "event_type", "") == event]


async def test_deletions_are_told_for_queries(caplog: pytest.LogCaptureFixture) -> None:
    client = AsyncMock()
    client.delete_message.side_effect = [Exception("Network error"), None]
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        await delete_message_with_retry(client, msg)
        client.delete_message.side_effect = PermissionError("no")
        await delete_message_with_retry(client, msg, max_retries=1)
    (failed,) = _told(caplog, "message_deletion_failed")
    assert (failed["message_id"], failed["attempt"], failed["error"]) == ("msg-1", 1, "Network error")
    good, bad = _told(caplog, "message_deletion")
    assert (good["success"], good["retry_attempts"], good["final_error"]) == (True, 2, None)
    assert good["duration_ms"] > 0
    assert (bad["success"], bad["outcome"], bad["retry_attempts"]) == (False, "unknown", 1)
    assert "no" in bad["final_error"]


async def test_duplicates_are_told_for_queries(caplog: pytest.LogCaptureFixture) -> None:
    dedup = MessageDeduplicator("content-processor")
    await dedup.mark_processed("m", "c")
    await dedup.check_duplicate("m", "c")
    (one,) = _told(caplog, "duplicate_detected")
    assert (one["message_id"], one["correlation_id"], one["container"]) == ("m", "c", "content-processor")
