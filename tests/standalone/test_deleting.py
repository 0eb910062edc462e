"""Deleting: what is tried again, what is not, and what is counted."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import aiobotocore.session  # type: ignore[import-untyped]
import boto3  # type: ignore[import-untyped]
import pytest
from azure.storage.queue import QueueServiceClient

from tenure.errors import BadArgument
from tenure.settlement import Outcome
from tenure.standalone import (
    MessageDeletionTracker,
    Receipt,
    delete_message,
    delete_message_with_retry,
    delete_queue_message_safe,
    sync,
    verify_message_deletion,
)
from tenure.standalone.steps import StepCall, run_async
from tenure.testing.virtual import VirtualClock

from .fake import storage_error

MESSAGE = SimpleNamespace(id="m-1", pop_receipt="receipt-1")
LOST_REPLY = Exception("Network error")


def _client(*answers: Exception | None) -> AsyncMock:
    client = AsyncMock()
    client.delete_message.side_effect = answers
    return client


async def test_a_delete_that_works_is_made_once() -> None:
    client = AsyncMock()
    assert await delete_message_with_retry(client, MESSAGE) == (True, None)
    client.delete_message.assert_called_once_with("m-1", "receipt-1")


async def test_what_can_pass_is_tried_again() -> None:
    client = _client(LOST_REPLY, storage_error("ServerBusy", 503), None)
    assert await delete_message_with_retry(client, MESSAGE, max_retries=3) == (True, None)
    assert client.delete_message.call_count == 3


async def test_pauses_grow_and_are_jittered(virtual_clock: VirtualClock) -> None:
    began = virtual_clock.monotonic()
    deletion = await delete_message(_client(*[LOST_REPLY] * 4), MESSAGE, 4, retry_delay=2.0)
    assert (deletion.outcome, deletion.attempts) == (Outcome.UNKNOWN, 4)
    assert 7.0 < virtual_clock.monotonic() - began < 14.0, "half to all of 2, 4 and 8 s"
    assert "it may come back" in (deletion.error or "")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (storage_error("AuthorizationFailure", 403), Outcome.UNKNOWN),
        (storage_error("MessageNotFound", 404), Outcome.ALREADY_GONE),
        (storage_error("PopReceiptMismatch", 400), Outcome.TAKEN_OVER),
        (storage_error("QueueNotFound", 404), Outcome.UNKNOWN),
    ],
    ids=str,
)
async def test_what_cannot_pass_is_not_tried_again(error: Exception, outcome: Outcome) -> None:
    client = _client(error, None)
    deletion = await delete_message(client, MESSAGE)
    assert (deletion.outcome, deletion.attempts, deletion.ok) == (outcome, 1, False)
    assert str(error.error_code) in (deletion.error or "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("tries", "said"), [(1, "in 1 attempt:"), (2, "in 2 attempts:")])
async def test_attempts_are_counted_as_people_do(tries: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    await delete_message(_client(*[ConnectionResetError()] * tries), MESSAGE, max_retries=tries)
    assert said in caplog.text


async def test_a_delete_whose_reply_was_lost_counts_if_the_lease_lasts(virtual_clock: VirtualClock) -> None:
    answers = (LOST_REPLY, storage_error("MessageNotFound", 404))
    ok, error = await delete_message_with_retry(_client(*answers), MESSAGE)
    assert (ok, (error or "").split(":")[0]) == (False, "already_gone"), "perhaps somebody else has it"
    # Made by a heartbeat, a receipt knows how long it lasts, on the machine's clock.
    receipt = Receipt("m-1", "receipt-1", deadline=1e15)
    assert await delete_message_with_retry(_client(*answers), receipt) == (True, None), "nobody else can have done it"


async def test_a_receipt_that_is_refused_after_a_lost_reply_proves_nothing() -> None:
    answers = (LOST_REPLY, storage_error("ReceiptHandleIsInvalid", 404))
    deletion = await delete_message(_client(*answers), MESSAGE, queue_url="q")
    assert deletion.outcome is Outcome.UNKNOWN, "taken over, or deleted at the first try"
    refused = await delete_message(_client(answers[1]), MESSAGE, queue_url="q")
    assert refused.outcome is Outcome.TAKEN_OVER


async def test_on_sqs_an_accepted_delete_after_the_end_of_the_lease_is_no_proof() -> None:
    over = Receipt("m-1", "receipt-1", deadline=0.0)
    deletion = await delete_message(AsyncMock(), over, queue_url="q")
    assert (deletion.outcome, deletion.ok) == (Outcome.UNKNOWN, False)
    assert (await delete_message(AsyncMock(), over)).ok, "on Azure the service itself compares receipts"


@pytest.mark.parametrize(
    ("message", "receipt"),
    [
        ({"MessageId": "a", "ReceiptHandle": "r"}, Receipt("a", "r")),
        ({"id": "a", "pop_receipt": "r", "content": "x"}, Receipt("a", "r")),
        (SimpleNamespace(message_id="a", receipt_handle="r"), Receipt("a", "r")),
        (SimpleNamespace(id="a", pop_receipt="r"), Receipt("a", "r")),
        ("r", Receipt("", "r")),
    ],
)
def test_a_receipt_is_found_in_every_kind_of_message(message: Any, receipt: Receipt) -> None:
    assert Receipt.of(message) == receipt


@pytest.mark.parametrize("message", [{}, {"MessageId": "a"}, "", None, SimpleNamespace(id="a", pop_receipt=None)])
async def test_what_has_no_receipt_is_refused(message: Any) -> None:
    with pytest.raises(BadArgument, match="has no receipt"):
        await delete_message_with_retry(AsyncMock(), message)


@pytest.mark.parametrize("message", ["receipt-1", Receipt("", "receipt-1"), {"id": None, "pop_receipt": "receipt-1"}])
async def test_on_azure_a_receipt_without_its_message_is_refused(message: Any) -> None:
    client = AsyncMock()
    # Without an id the path of the request would be that of *all* messages: "clear the queue".
    with pytest.raises(BadArgument, match="id of the message"):
        await delete_message_with_retry(client, message)
    client.delete_message.assert_not_called()
    with pytest.raises(BadArgument, match="id of the message"):
        await delete_queue_message_safe(client, "", "receipt-1")
    assert await delete_message_with_retry(client, message, queue_url="q") == (True, None), "SQS wants no more"


@pytest.mark.parametrize("client", [None, object(), MESSAGE, "queue"])
async def test_what_is_no_client_is_refused_at_once(client: Any) -> None:
    with pytest.raises(BadArgument, match="is not a queue client"):
        await delete_message_with_retry(client, MESSAGE)
    with pytest.raises(BadArgument, match="is not a queue client"):
        await delete_message_with_retry(client, MESSAGE, queue_url="q")


def test_a_client_of_another_service_is_refused() -> None:
    service = boto3.client("s3", region_name="eu-west-1")
    with pytest.raises(BadArgument, match="is not a queue client"):
        sync.delete_message_with_retry(service, MESSAGE, queue_url="q")
    storage = QueueServiceClient("http://127.0.0.1:1/account", credential="a2V5")
    with pytest.raises(BadArgument, match="is not a queue client"):
        sync.delete_message_with_retry(storage, MESSAGE)
    queue = storage.get_queue_client("queue")
    with pytest.raises(BadArgument, match="knows its queue"):
        sync.delete_message_with_retry(queue, MESSAGE, queue_url="q")


async def test_a_client_of_aiobotocore_that_was_not_entered_is_refused() -> None:
    client = aiobotocore.session.get_session().create_client("sqs", region_name="eu-west-1")
    with pytest.raises(BadArgument, match="async with"):
        await delete_message_with_retry(client, MESSAGE, queue_url="q")
    async with client:
        pass  # else it complains that nobody did


@pytest.mark.parametrize("delay", [-1.0, float("nan"), float("inf")])
async def test_a_pause_that_is_none_is_refused(delay: float) -> None:
    with pytest.raises(BadArgument, match="retry_delay"):
        await delete_message_with_retry(AsyncMock(), MESSAGE, retry_delay=delay)


async def test_by_id_and_receipt() -> None:
    client = AsyncMock()
    assert await delete_queue_message_safe(client, "m-2", "receipt-2") == (True, None)
    client.delete_message.assert_called_once_with("m-2", "receipt-2")


def test_the_sync_face_makes_the_same_calls() -> None:
    client = MagicMock()
    client.delete_message.side_effect = [storage_error("ServerBusy", 503), None]
    assert sync.delete_message_with_retry(client, MESSAGE, retry_delay=0.001) == (True, None)
    assert sync.delete_queue_message_safe(MagicMock(), "m", "r") == (True, None)


def test_the_sync_face_refuses_an_async_client() -> None:
    with pytest.raises(BadArgument, match=r"^[\w.]+ is of an async client: .*nothing was done"):
        sync.delete_message_with_retry(AsyncMock(), MESSAGE)


@pytest.mark.real_time
async def test_the_async_face_calls_a_sync_client_in_a_thread() -> None:
    loop = asyncio.get_running_loop()

    def blocking() -> str:
        return asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "the loop is free"), loop).result(60)

    async def answer() -> Any:
        def steps() -> Any:
            return (yield StepCall(blocking))

        return await run_async(steps())

    assert await answer() == "the loop is free"


# --- looking, counting ------------------------------------------------------------------------------------


def _looked_at(ids: list[str], count: int) -> AsyncMock:
    client = AsyncMock()
    client.peek_messages.return_value = [SimpleNamespace(id=one) for one in ids]
    client.get_queue_properties.return_value = SimpleNamespace(approximate_message_count=count)
    return client


async def test_a_look_says_only_what_it_saw() -> None:
    assert await verify_message_deletion(_looked_at(["m-1"], 1), "m-1", "x") is False
    assert await verify_message_deletion(_looked_at([], 0), "m-1", "x") is True
    assert await verify_message_deletion(_looked_at([], 1), "m-1", "x") is None, "it may be hidden"
    assert await verify_message_deletion(AsyncMock(), "m-1", queue_url="q") is None, "SQS cannot be looked into"
    away = AsyncMock()
    away.peek_messages.side_effect = LOST_REPLY
    assert await verify_message_deletion(away, "m-1", "x") is None


async def test_a_tracker_counts_how_deletes_ended() -> None:
    tracker = MessageDeletionTracker("content-processor")
    assert tracker.get_stats()["success_rate_percent"] is None, "nothing was deleted: there is no rate"
    assert await tracker.delete_and_track(AsyncMock(), MESSAGE)
    other = SimpleNamespace(id="m-2", pop_receipt="r")
    assert not await tracker.delete_and_track(_client(storage_error("PopReceiptMismatch", 400)), other)
    assert not await tracker.delete_and_track(_client(*[LOST_REPLY] * 2), MESSAGE, max_retries=2)
    stats = tracker.get_stats()
    assert (stats["total_deletions"], stats["successful"], stats["failed"]) == (3, 1, 2)
    assert stats["outcomes"] == {"deleted": 1, "taken_over": 1, "unknown": 1}
    assert stats["success_rate_percent"] == pytest.approx(33.3, abs=0.1)
    assert [one[0] for one in stats["first_failures"]] == ["m-2", "m-1"]
    tracker.log_stats()


async def test_what_failed_is_resolved_when_the_message_is_seen_and_deleted_again() -> None:
    tracker = MessageDeletionTracker("x")
    await tracker.delete_and_track(_client(LOST_REPLY), MESSAGE, max_retries=1)
    assert tracker.deletion_failures.keys() == {"m-1"}
    await tracker.delete_and_track(AsyncMock(), MESSAGE)
    assert (tracker.deletion_failures, tracker.get_stats()["resolved"]) == ({}, 1)


async def test_messages_without_an_id_do_not_resolve_each_other() -> None:
    tracker = MessageDeletionTracker("x")
    await tracker.delete_and_track(_client(LOST_REPLY), "receipt-1", max_retries=1, queue_url="q")
    await tracker.delete_and_track(AsyncMock(), "receipt-2", queue_url="q")
    assert (tracker.resolved_deletions, list(tracker.deletion_failures)) == (0, [""])


async def test_failures_are_bounded_and_the_first_ones_are_kept() -> None:
    tracker = MessageDeletionTracker("x", kept_failures=3)
    for number in range(10):
        message = SimpleNamespace(id=f"m-{number}", pop_receipt="r")
        await tracker.delete_and_track(_client(storage_error("PopReceiptMismatch", 400)), message)
    assert list(tracker.deletion_failures) == ["m-0", "m-1", "m-2"]
    assert tracker.failed_deletions == 10


async def test_a_tracker_looks_only_if_asked_to() -> None:
    tracker = MessageDeletionTracker("x")
    client = _looked_at([], 1)
    await tracker.delete_and_track(client, MESSAGE)
    client.peek_messages.assert_not_called()
    await tracker.delete_and_track(client, MESSAGE, verify=True)
    client.peek_messages.assert_called_once()
    assert tracker.unverified_deletions == 1


async def test_what_was_gone_already_is_no_failed_delete_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    tracker = MessageDeletionTracker("x")
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        assert not await tracker.delete_and_track(_client(storage_error("MessageNotFound", 404)), MESSAGE)
        assert await tracker.delete_and_track(_client(None), MESSAGE)
    gone, deleted = [vars(record) for record in caplog.records]
    assert (gone["levelname"], gone["outcome"], gone["success"]) == ("INFO", "already_gone", None)
    assert (deleted["outcome"], deleted["success"]) == ("deleted", True)
    stats = tracker.get_stats()
    assert (stats["failed"], stats["already_gone"], stats["successful"], stats["total_deletions"]) == (0, 1, 1, 2)
    assert (stats["success_rate_percent"], stats["first_failures"]) == (100.0, [])


async def test_a_tracker_counts_deletes_that_were_made_elsewhere() -> None:
    tracker = MessageDeletionTracker("x")
    tracker.count(await delete_message(AsyncMock(), MESSAGE))
    assert tracker.successful_deletions == 1


async def test_log_lines_carry_the_callers_own_names(caplog: pytest.LogCaptureFixture) -> None:
    receipt = Receipt("m-1", "receipt-1", correlation_id="c-1", payload_hash="abc")
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        await delete_message(_client(LOST_REPLY, None), receipt, retry_delay=0.0)
        await delete_message(_client(None), MESSAGE)
    told = [vars(record) for record in caplog.records]
    assert [(one["correlation_id"], one["payload_hash"]) for one in told] == [("c-1", "abc")] * 2 + [(None, None)]


async def test_a_look_after_a_delete_carries_them_too(caplog: pytest.LogCaptureFixture) -> None:
    client = _client(None)
    client.url = "https://a.example/looked"
    client.peek_messages.side_effect = OSError("away")
    receipt = Receipt("m-1", "receipt-1", correlation_id="c-1", payload_hash="abc")
    await MessageDeletionTracker("x").delete_and_track(client, receipt, verify=True)
    (record,) = [vars(one) for one in caplog.records]
    names = ("event_type", "message_id", "correlation_id", "payload_hash", "container")
    assert [record[name] for name in names] == ["message_deletion_unverified", "m-1", "c-1", "abc", "x"]
