"""How a heartbeat ends its message, in virtual time: for what no real service can be made to do."""

import asyncio
import logging
import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from tenure.errors import BadArgument, StaleReceipt
from tenure.settlement import Outcome
from tenure.standalone import VisibilityHeartbeat, delete_message, release_message
from tenure.standalone.receipt import Receipt
from tenure.standalone.replaced import is_replaced, note_replaced
from tenure.testing.virtual import VirtualClock

from .fake import FakeSqs, Updated, storage_error

MESSAGE = {"MessageId": "m-1", "ReceiptHandle": "receipt-1"}
STORED = SimpleNamespace(id="m-1", pop_receipt="receipt-1")
GONE = storage_error("MessageNotFound", 404)


def _azure(url: str, *receipts: str) -> AsyncMock:
    client = AsyncMock()
    client.url = url
    client.update_message.side_effect = [Updated(receipt) for receipt in receipts]
    return client


async def test_an_old_receipt_of_a_heartbeat_does_not_pass_for_deleted(virtual_clock: VirtualClock) -> None:
    # The live service answers 404 to an old receipt, as to a message that is gone.
    client = _azure("https://a.example/stale", "receipt-2", "receipt-3", "receipt-4")
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(11)
        kept = heartbeat.receipt
        await asyncio.sleep(11)
        client.delete_message.side_effect = GONE
        with pytest.raises(StaleReceipt, match="the message is still ours") as caught:
            await delete_message(client, kept)
        assert caught.value.code == "stale_receipt"
        client.delete_message.side_effect = None
        assert (await heartbeat.delete()).ok
    client.delete_message.assert_awaited_with("m-1", "receipt-3")


async def test_a_receipt_is_stale_from_the_begin_of_the_beat_that_replaces_it(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/begin")

    async def slowly(*_: object, **__: object) -> Updated:
        await asyncio.sleep(5)
        return Updated("receipt-2")

    client.update_message.side_effect = slowly
    client.delete_message.side_effect = GONE
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(12)
        with pytest.raises(StaleReceipt):
            await delete_message(client, heartbeat.receipt)
        client.delete_message.side_effect = None
        assert (await heartbeat.delete()).ok, "it has waited for the beat"
    client.delete_message.assert_awaited_with("m-1", "receipt-2")


async def test_after_a_beat_that_failed_its_receipt_is_not_called_old(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/failed")
    client.update_message.side_effect = ConnectionResetError("Network error")
    client.delete_message.side_effect = GONE
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock):
        await asyncio.sleep(12)
        assert (await delete_message(client, STORED)).outcome is Outcome.ALREADY_GONE


def test_what_is_remembered_of_old_receipts_is_bounded() -> None:
    for number in range(10_001):
        note_replaced("https://a.example/many", Receipt("m", str(number)))
    assert not is_replaced("https://a.example/many", Receipt("m", "0"))
    assert is_replaced("https://a.example/many", Receipt("m", "10000"))


async def test_a_second_delete_answers_as_the_first(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/twice")
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        assert await heartbeat.delete() == await heartbeat.delete()
        with pytest.raises(BadArgument, match="was deleted already and cannot be released"):
            await heartbeat.release()
    client.delete_message.assert_awaited_once()
    client.update_message.assert_not_awaited()


async def test_what_was_released_is_not_deleted(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/released", "receipt-2")
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        assert (await heartbeat.release(after=0.5)).after_seconds == 1
        with pytest.raises(BadArgument, match="was released already and cannot be deleted"):
            await heartbeat.delete()
    assert client.update_message.await_args.kwargs == {"visibility_timeout": 1}
    client.delete_message.assert_not_awaited()


async def test_a_delete_that_failed_may_be_tried_again(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/again")
    client.delete_message.side_effect = [storage_error("AuthorizationFailure", 403), None]
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        assert not (await heartbeat.delete()).ok
        assert (await heartbeat.delete()).ok


async def test_a_pause_is_cut_at_the_12_hours_of_sqs(virtual_clock: VirtualClock) -> None:
    client = FakeSqs(virtual_clock, virtual_clock.monotonic() + 30)
    heartbeat = VisibilityHeartbeat(client, MESSAGE, queue_url="q", visibility_timeout=30, clock=virtual_clock)
    async with heartbeat:
        await asyncio.sleep(3600)
        release = await heartbeat.release(after=43_200)
    assert (release.ok, release.after_seconds) == (True, 43_200 - 3600 - 2)


@pytest.mark.parametrize("after", [-1, 43_201, float("nan"), float("inf"), "5", True, None])
async def test_a_pause_that_is_none_is_refused(after: Any, virtual_clock: VirtualClock) -> None:
    client = FakeSqs(virtual_clock, virtual_clock.monotonic() + 30)
    with pytest.raises(BadArgument, match=r"after=.*nothing was released"):
        await release_message(client, MESSAGE, after, queue_url="q")
    async with VisibilityHeartbeat(
        client, MESSAGE, queue_url="q", visibility_timeout=30, clock=virtual_clock
    ) as heartbeat:
        with pytest.raises(BadArgument, match=r"after=.*nothing was released"):
            await heartbeat.release(after=after)
    assert client.calls == []


async def test_on_sqs_a_lease_that_is_over_is_not_released() -> None:
    client = AsyncMock()
    release = await release_message(client, Receipt("m-1", "r", deadline=0.0), queue_url="q")
    assert (release.outcome, release.attempts, release.ok) == (Outcome.TAKEN_OVER, 0, False)
    client.change_message_visibility.assert_not_awaited()


async def test_a_release_tries_again_what_can_pass(caplog: pytest.LogCaptureFixture) -> None:
    client = AsyncMock()
    client.change_message_visibility.side_effect = [storage_error("ServerBusy", 503), None]
    with caplog.at_level(logging.INFO, "tenure.standalone"):
        release = await release_message(client, MESSAGE, 7, retry_delay=0.0, queue_url="q")
    assert (release.outcome, release.attempts, release.error) == (Outcome.RETURNED, 2, None)
    failed, done = [vars(record) for record in caplog.records]
    assert (failed["event_type"], failed["attempt"]) == ("message_release_failed", 1)
    assert (done["event_type"], done["success"], done["after_seconds"]) == ("message_release", True, 7)


# --- stop, callbacks, keywords ----------------------------------------------------------------------------


def test_stop_waits_no_longer_than_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    begun, go_on = threading.Event(), threading.Event()
    client = MagicMock(url="https://a.example/stop")

    def update(*_: object, **__: object) -> Updated:
        begun.set()
        assert go_on.wait(60)
        return Updated("receipt-2")

    client.update_message.side_effect = update
    heartbeat = VisibilityHeartbeat(client, STORED, visibility_timeout=30, heartbeat_interval=0.01)
    heartbeat.start()
    assert begun.wait(60)
    assert heartbeat.stop(timeout=0.01).receipt == "receipt-1"
    assert heartbeat.is_running
    assert "still under way after 0.01 s" in caplog.text
    go_on.set()
    assert heartbeat.delete().ok
    client.delete_message.assert_called_once_with("m-1", "receipt-2")


async def test_stop_is_awaited_in_a_loop(virtual_clock: VirtualClock) -> None:
    client = _azure("https://a.example/awaited", "receipt-2")
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(11)
        assert (await heartbeat.stop(timeout=5)).receipt == "receipt-2"
        assert not heartbeat.is_running


def test_each_failed_beat_is_told_to_on_failure() -> None:
    errors: list[Exception] = []
    beaten = threading.Event()
    client = MagicMock(url="https://a.example/told")

    def update(*_: object, **__: object) -> Updated:
        if not errors:
            raise ConnectionResetError("Network error")
        beaten.set()
        return Updated("receipt-2")

    def tell(error: Exception) -> None:
        errors.append(error)
        raise ValueError("and fails itself")

    client.update_message.side_effect = update
    with VisibilityHeartbeat(client, STORED, visibility_timeout=3, heartbeat_interval=0.05, on_failure=tell):
        assert beaten.wait(60), "the heartbeat goes on"
    assert [str(error) for error in errors] == ["Network error"]


def test_on_lost_may_stop_the_heartbeat() -> None:
    client = MagicMock(url="https://a.example/lost")
    client.update_message.side_effect = GONE
    stopped = threading.Event()

    def stop() -> None:
        heartbeat.stop()
        stopped.set()

    heartbeat = VisibilityHeartbeat(client, STORED, on_lost=stop)
    heartbeat.start()
    assert stopped.wait(60)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"message": MESSAGE}, "neither queue_client= nor sqs_client="),
        ({"sqs_client": AsyncMock(), "queue_client": AsyncMock(), "message": MESSAGE}, "both queue_client= and sqs_cl"),
        ({"sqs_client": AsyncMock()}, "neither message= nor receipt_handle="),
        ({"sqs_client": AsyncMock(), "message": MESSAGE, "receipt_handle": "r"}, "both message= and receipt_handle="),
    ],
)
def test_one_name_for_each_is_wanted(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        VisibilityHeartbeat(queue_url="q", **given)


async def test_every_line_carries_the_callers_own_names(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    client = _azure("https://a.example/names", "receipt-2")
    names = {"correlation_id": "c-1", "payload_hash": "abc"}
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        async with VisibilityHeartbeat(
            client,
            STORED,
            visibility_timeout=30,
            clock=virtual_clock,
            **names,  # type: ignore[arg-type]
        ) as heartbeat:
            await asyncio.sleep(11)
            await heartbeat.delete()
    told = [vars(record) for record in caplog.records if record.name == "tenure.standalone"]
    kinds = ["heartbeat_started", "heartbeat_extended", "heartbeat_stats", "message_deletion"]
    assert [one["event_type"] for one in told] == kinds
    assert {(one["correlation_id"], one["payload_hash"]) for one in told} == {("c-1", "abc")}


async def test_a_callback_that_raises_is_told_with_the_names_of_its_message(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Exception) -> None:
        raise ZeroDivisionError

    client = FakeSqs(virtual_clock, virtual_clock.monotonic() + 30)
    client.fails = lambda _: OSError("away")
    async with VisibilityHeartbeat(
        client, MESSAGE, queue_url="https://q", visibility_timeout=30, clock=virtual_clock,
        correlation_id="c-1", payload_hash="abc", on_failure=broken,
    ):  # fmt: skip
        await asyncio.sleep(11)
    told = [vars(one) for one in caplog.records if one.exc_info]
    assert told
    names = ("event_type", "correlation_id", "payload_hash")
    assert {tuple(one[name] for name in names) for one in told} == {("heartbeat_callback_failed", "c-1", "abc")}
