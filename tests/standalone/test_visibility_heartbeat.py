"""The heartbeat, in virtual time, and its thread."""

import asyncio
import logging
import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from tenure.clock import SystemClock
from tenure.errors import BadArgument, LeaseLost
from tenure.standalone import VisibilityHeartbeat
from tenure.testing.virtual import VirtualClock

from .fake import FakeSqs, Updated, storage_error

MESSAGE = {"MessageId": "m-1", "ReceiptHandle": "receipt-1"}
STORED = SimpleNamespace(id="m-1", pop_receipt="receipt-1")
AWAY = ConnectionResetError("Network error")


def _sqs(clock: VirtualClock, seconds: float, **words: Any) -> tuple[FakeSqs, VisibilityHeartbeat]:
    client = FakeSqs(clock, clock.monotonic() + seconds)
    beat = VisibilityHeartbeat(client, MESSAGE, queue_url="q", visibility_timeout=seconds, clock=clock, **words)
    return client, beat


async def test_a_short_message_costs_no_call(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 30)
    async with heartbeat:
        assert heartbeat.is_running
        await asyncio.sleep(9)
    assert client.calls == []
    assert heartbeat.get_stats() == {
        "extension_count": 0,
        "total_extended_seconds": 0.0,
        "is_running": False,
        "last_error": None,
        "is_lost": False,
    }


@pytest.mark.parametrize(("minutes", "count"), [(5, 0), (15, 2), (25, 5)])
async def test_600_240_300_holds_a_long_task_with_one_beat_failing(
    minutes: int, count: int, virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    client, heartbeat = _sqs(virtual_clock, 600, extension_seconds=300, heartbeat_interval=240)
    began = virtual_clock.monotonic()
    failures = [AWAY]
    client.fails = lambda now: failures.pop() if failures and now - began > 700 else None
    async with heartbeat:
        await asyncio.sleep(minutes * 60)  # the fake fails if the message is ever visible at a beat
        assert virtual_clock.monotonic() < client.visible_at
    assert heartbeat.extension_count == count
    assert heartbeat.total_extended_seconds == 300 * count
    assert len(failures) == (minutes == 5)
    assert "one missed beat ends the lease" in caplog.text, "seed 004's numbers are allowed, with a warning"


async def test_a_beat_never_shortens_what_is_left(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 600, extension_seconds=60, heartbeat_interval=20)
    async with heartbeat:
        await asyncio.sleep(700)
    ends = [moment + seconds for moment, seconds in client.calls]
    assert ends == sorted(ends)
    assert min(ends) > 1600


async def test_no_beat_asks_past_the_12_hours_of_sqs(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 3600)
    async with heartbeat:
        await asyncio.sleep(14 * 3600)
        assert not heartbeat.is_running, "it has stopped by itself"
        assert not heartbeat.is_lost
        assert "held for its longest time" in (heartbeat.last_error or "")
    assert 43_190 < client.visible_at - 1000 <= 43_200


async def test_time_since_the_receive_counts(virtual_clock: VirtualClock) -> None:
    client = FakeSqs(virtual_clock, 1030)
    heartbeat = VisibilityHeartbeat(
        client, MESSAGE, queue_url="q", visibility_timeout=30, received_at=980.0, clock=virtual_clock
    )
    async with heartbeat:
        await asyncio.sleep(0.1)
    assert client.calls == [(1000, 30)], "20 s of it are over: at once"


async def test_on_a_machine_that_has_slept_the_receive_is_still_a_moment_of_time_monotonic(
    virtual_clock: VirtualClock,
) -> None:
    class Slept(SystemClock):
        def monotonic(self) -> float:
            return super().monotonic() + 3600.0

    client, received_at = FakeSqs(virtual_clock, 1030), time.monotonic()  # noqa: TID251 - what callers have
    heartbeat = VisibilityHeartbeat(
        client, MESSAGE, queue_url="q", visibility_timeout=30, received_at=received_at, clock=Slept()
    )
    async with heartbeat:
        await asyncio.sleep(0.1)
    assert not heartbeat.is_lost, "it was received just now, not an hour ago"
    assert client.calls == []


async def test_a_receive_in_the_future_is_refused(virtual_clock: VirtualClock) -> None:
    # Of `time.time()`: the lease would seem to last for years, and no beat would ever come.
    for moment in (virtual_clock.wall(), float("nan")):
        with pytest.raises(BadArgument, match=r"time\.monotonic\(\)"):
            _sqs(virtual_clock, 30, received_at=moment)


@pytest.mark.parametrize("name", ["visibility_timeout", "extension_seconds", "heartbeat_interval", "max_hold_seconds"])
@pytest.mark.parametrize("seconds", ["30", 0, -5, float("nan"), True], ids=repr)
async def test_seconds_that_are_none_are_refused_before_the_work_begins(
    name: str, seconds: Any, virtual_clock: VirtualClock
) -> None:
    words = {"visibility_timeout": 30.0, name: seconds}
    with pytest.raises(BadArgument, match=rf"{name}=.*no beat was sent"):
        VisibilityHeartbeat(FakeSqs(virtual_clock, 1030), MESSAGE, queue_url="q", **words)


async def test_a_refusal_says_what_to_mend_and_ends_its_sentences_once(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    client, heartbeat = _sqs(virtual_clock, 30)
    error = storage_error("AccessDenied", 403)
    error.args = ("You may not.",)
    error.message = "You may not."
    client.fails = lambda now: error
    with pytest.raises(LeaseLost) as caught:
        async with heartbeat:
            await asyncio.sleep(100)
    assert "until that is fixed" in caplog.text
    assert "permission to renew" in caplog.text
    assert "You may not. Another worker" in str(caught.value)


async def test_a_hold_can_be_limited(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 30, max_hold_seconds=100)
    async with heartbeat:
        await asyncio.sleep(200)
    assert client.visible_at <= 1100


async def test_on_azure_no_beat_asks_past_the_expiry_of_the_message(virtual_clock: VirtualClock) -> None:
    client = AsyncMock()
    client.update_message.return_value = Updated("new")
    expires = datetime.fromtimestamp(virtual_clock.wall() + 100, UTC)
    message = SimpleNamespace(id="m-1", pop_receipt="receipt-1", expires_on=expires)
    async with VisibilityHeartbeat(client, message, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(200)
    assert 1090 < (heartbeat.receipt.deadline or 0) <= 1100
    never = SimpleNamespace(id="m-1", pop_receipt="r", expires_on=datetime(9999, 12, 31, tzinfo=UTC))
    async with VisibilityHeartbeat(client, never, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(200)
    assert (heartbeat.receipt.deadline or 0) > 1400


async def test_beats_that_fail_are_repeated_within_the_lease(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 30)
    client.fails = lambda now: AWAY if 1010 <= now < 1028 else None
    async with heartbeat:
        await asyncio.sleep(20)
        assert heartbeat.get_stats()["last_error"] == "Network error"
        assert heartbeat.get_stats()["extension_count"] == 0
        await asyncio.sleep(100)
        assert heartbeat.get_stats()["last_error"] is None
    assert heartbeat.extension_count > 5


async def test_on_sqs_a_lease_that_ended_unrenewed_is_lost_and_not_touched_again(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 30)
    client.fails = lambda now: AWAY
    with pytest.raises(LeaseLost, match="do not delete it"):
        async with heartbeat:
            await asyncio.sleep(100)
    assert max(moment for moment, _ in client.calls) < 1030
    assert heartbeat.is_lost
    assert virtual_clock.monotonic() == pytest.approx(1030, abs=0.1), "the block was ended at once"


async def test_on_azure_it_goes_on_because_receipts_fence(virtual_clock: VirtualClock) -> None:
    client = AsyncMock()
    client.update_message.side_effect = lambda *a, **k: _raise(AWAY) if virtual_clock.now < 1050 else Updated("new")
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(60)
    assert heartbeat.receipt.receipt == "new"
    assert not heartbeat.is_lost


async def test_on_azure_each_beat_hands_the_newest_receipt_on(virtual_clock: VirtualClock) -> None:
    client = AsyncMock()
    client.update_message.side_effect = [Updated("receipt-2"), Updated("receipt-3")]
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(25)
    assert [call.args for call in client.update_message.call_args_list] == [("m-1", "receipt-1"), ("m-1", "receipt-2")]
    assert all(call.kwargs == {"visibility_timeout": 30} for call in client.update_message.call_args_list)
    assert heartbeat.receipt.receipt == "receipt-3"
    assert heartbeat.receipt.deadline == 1050


async def test_the_end_waits_for_a_beat_under_way(virtual_clock: VirtualClock) -> None:
    client = AsyncMock()

    async def slowly(*_: object, **__: object) -> Updated:
        await asyncio.sleep(5)
        return Updated("receipt-2")

    client.update_message.side_effect = slowly
    async with VisibilityHeartbeat(client, STORED, visibility_timeout=30, clock=virtual_clock) as heartbeat:
        await asyncio.sleep(11)
        assert heartbeat.receipt.receipt == "receipt-1"
    assert heartbeat.receipt.receipt == "receipt-2"


@pytest.mark.parametrize("code", ["PopReceiptMismatch", "MessageNotFound"])
async def test_a_lost_lease_ends_the_block(code: str, virtual_clock: VirtualClock) -> None:
    client = AsyncMock()
    client.update_message.side_effect = storage_error(code, 404)
    told: list[str] = []
    with pytest.raises(LeaseLost, match="the lease on m-1 is lost"):
        async with VisibilityHeartbeat(
            client, STORED, visibility_timeout=30, clock=virtual_clock, on_lost=lambda: told.append("lost")
        ) as heartbeat:
            await asyncio.sleep(100)
    assert (told, heartbeat.is_lost, heartbeat.is_running) == (["lost"], True, False)
    assert client.update_message.call_count == 1
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0, "nothing of the cancellation is left"
    await asyncio.sleep(1)


async def test_the_block_ends_also_if_its_own_call_fails(virtual_clock: VirtualClock) -> None:
    client = AsyncMock()
    client.update_message.side_effect = storage_error("MessageNotFound", 404)
    began = virtual_clock.monotonic()
    with pytest.raises(LeaseLost) as caught:
        async with VisibilityHeartbeat(
            client, STORED, visibility_timeout=30, clock=virtual_clock, on_lost=lambda: 1 / 0
        ):
            await asyncio.sleep(1000)
    assert virtual_clock.monotonic() - began < 30, "it went on without its lease"
    assert caught.value.code == "lease_lost"


async def test_a_cancellation_from_outside_stays_one(virtual_clock: VirtualClock) -> None:
    client, heartbeat = _sqs(virtual_clock, 30)

    async def work() -> None:
        async with heartbeat:
            await asyncio.sleep(100)

    task = asyncio.create_task(work())
    await asyncio.sleep(15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not heartbeat.is_running
    assert client.calls


async def test_without_a_known_timeout_the_first_beat_comes_at_once(virtual_clock: VirtualClock) -> None:
    client = FakeSqs(virtual_clock, 1005)
    async with VisibilityHeartbeat(client, MESSAGE, queue_url="q", clock=virtual_clock):
        await asyncio.sleep(35)
    assert [moment - 1000 for moment, _ in client.calls] == [0, 10, 20, 30]


async def test_events_are_named_for_queries(virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    client, heartbeat = _sqs(virtual_clock, 30, job_id="job-7")
    client.fails = lambda now: AWAY if now < 1012 else None
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        async with heartbeat:
            await asyncio.sleep(15)
    told = [vars(record) for record in caplog.records if record.name == "tenure.standalone"]
    kinds = [one["event_type"] for one in told]
    assert kinds == ["heartbeat_started", "heartbeat_extension_failed", "heartbeat_extended", "heartbeat_stats"]
    assert {one["job_id"] for one in told} == {"job-7"}
    assert told[1]["error_message"] == "Network error"
    assert (told[-1]["extension_count"], told[-1]["is_running"], told[-1]["last_error"]) == (1, False, None)


# --- the thread -------------------------------------------------------------------------------------------


def test_in_a_thread_it_beats_while_the_caller_blocks() -> None:
    beaten = threading.Event()
    client = MagicMock()

    def update(*_: object, **__: object) -> Updated:
        beaten.set()
        return Updated("receipt-2")

    client.update_message.side_effect = update
    with VisibilityHeartbeat(client, STORED, visibility_timeout=3, heartbeat_interval=0.05) as heartbeat:
        assert beaten.wait(20)
        assert heartbeat.get_stats()["is_running"]
    assert not heartbeat.get_stats()["is_running"]
    assert heartbeat.receipt.receipt == "receipt-2"
    assert heartbeat.stop() == heartbeat.receipt, "a second end changes nothing"
    calls = client.update_message.call_count
    assert heartbeat.extension_count == calls
    assert not [thread for thread in threading.enumerate() if "heartbeat" in thread.name]


def test_in_a_thread_a_lost_lease_is_told_and_raised_at_the_end() -> None:
    lost = threading.Event()
    client = MagicMock()
    client.update_message.side_effect = storage_error("MessageNotFound", 404)
    heartbeat = VisibilityHeartbeat(client, STORED, on_lost=lost.set)
    with pytest.raises(LeaseLost), heartbeat:
        assert lost.wait(20)
    with pytest.raises(LeaseLost, match="do not delete it"):
        heartbeat.check()
    assert heartbeat.last_error == "MessageNotFound"


def test_the_error_of_the_block_is_the_one_that_is_raised() -> None:
    client = MagicMock()
    client.update_message.side_effect = storage_error("MessageNotFound", 404)
    with pytest.raises(ZeroDivisionError), VisibilityHeartbeat(client, STORED):
        _ = 1 / 0


def test_on_azure_a_bare_receipt_cannot_be_renewed() -> None:
    with pytest.raises(BadArgument, match="id of the message"):
        VisibilityHeartbeat(MagicMock(), "receipt-1", visibility_timeout=30)


def test_a_thread_and_an_async_client_do_not_fit() -> None:
    with pytest.raises(BadArgument, match="async with"):
        VisibilityHeartbeat(AsyncMock(), STORED).start()


async def test_a_heartbeat_begins_once(virtual_clock: VirtualClock) -> None:
    _, heartbeat = _sqs(virtual_clock, 30)
    async with heartbeat:
        pass
    with pytest.raises(BadArgument, match="begins once"):
        async with heartbeat:
            pass


def _raise(error: Exception) -> Updated:
    raise error
