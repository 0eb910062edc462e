"""Doing a message once: in one process, in virtual time."""

import asyncio
import logging
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from azure.storage.blob import BlobServiceClient

from tenure.errors import BadArgument, BrokerUnavailable, KeyConflict, LeaseLost
from tenure.standalone import DeduplicationRecord, MessageDeduplicator, sync
from tenure.standalone.steps import StepCall, Steps, run
from tenure.standalone.stores import DynamoStore, Found, MemoryStore
from tenure.testing.virtual import VirtualClock


async def test_what_was_done_is_a_duplicate() -> None:
    dedup = MessageDeduplicator("test-container")
    assert await dedup.check_duplicate("msg-1", "corr-1") == (False, None)
    await dedup.mark_processed("msg-1", "corr-1")
    is_duplicate, reason = await dedup.check_duplicate("msg-1", "corr-1")
    assert is_duplicate is True
    assert "duplicate" in (reason or "")
    assert "corr-1" in (reason or "")
    assert dedup.get_stats() == {
        "container": "test-container",
        "duplicates_detected": 1,
        "cache_size": 1,
        "expired_removed": 0,
        "store_failures": 0,
    }


async def test_services_do_not_know_each_others_messages() -> None:
    store = MemoryStore()
    first, second = MessageDeduplicator("first", store=store), MessageDeduplicator("second", store=store)
    await first.mark_processed("msg-1")
    assert await second.check_duplicate("msg-1") == (False, None)


async def test_instances_share_a_store() -> None:
    store = MemoryStore()
    first, second = MessageDeduplicator("x", store=store), MessageDeduplicator("x", store=store)
    await first.mark_processed("msg-1")
    is_duplicate, reason = await second.check_duplicate("msg-1")
    assert (is_duplicate, "in the store" in (reason or "")) == (True, True)


async def test_of_many_at_once_one_is_first(virtual_clock: VirtualClock) -> None:
    store = MemoryStore(clock=virtual_clock)
    ran, said = [], []

    async def worker(number: int) -> None:
        dedup = MessageDeduplicator("x", store=store, clock=virtual_clock)
        async with dedup.once("order-17") as turn:
            said.append(str(turn.state))
            if turn.is_first:
                await asyncio.sleep(1)
                ran.append(number)

    await asyncio.gather(*(worker(number) for number in range(20)))
    assert len(ran) == 1
    assert sorted(said) == ["first", *["running"] * 19]
    async with MessageDeduplicator("x", store=store, clock=virtual_clock).once("order-17") as turn:
        assert turn.is_done


async def test_a_failed_run_leaves_the_turn_to_the_next() -> None:
    dedup = MessageDeduplicator("x")
    with pytest.raises(ZeroDivisionError):
        async with dedup.once("order-17"):
            _ = 1 / 0
    async with dedup.once("order-17") as turn:
        assert turn.is_first


async def test_the_turn_of_the_dead_lapses(virtual_clock: VirtualClock) -> None:
    store = MemoryStore(clock=virtual_clock)
    first = MessageDeduplicator("x", store=store, claim_seconds=60, clock=virtual_clock)
    second = MessageDeduplicator("x", store=store, claim_seconds=60, clock=virtual_clock)

    async def slow() -> None:
        async with first.once("order-17"):
            await asyncio.sleep(70)

    running = asyncio.create_task(slow())
    await asyncio.sleep(50)
    async with second.once("order-17") as turn:
        assert turn.is_running
    await asyncio.sleep(11)
    async with second.once("order-17") as turn:
        assert turn.is_first
    with pytest.raises(LeaseLost, match="may be done twice"):
        await running


async def test_a_turn_that_lapsed_and_was_not_taken_is_still_ours(virtual_clock: VirtualClock) -> None:
    dedup = MessageDeduplicator("x", claim_seconds=60, clock=virtual_clock)
    async with dedup.once("order-17"):
        await asyncio.sleep(70)
    assert (await dedup.check_duplicate("order-17"))[0]


async def test_a_renewed_turn_does_not_lapse(virtual_clock: VirtualClock) -> None:
    store = MemoryStore(clock=virtual_clock)
    first = MessageDeduplicator("x", store=store, claim_seconds=60, clock=virtual_clock)
    second = MessageDeduplicator("x", store=store, claim_seconds=60, clock=virtual_clock)
    async with first.once("order-17") as turn:
        for _ in range(5):
            await asyncio.sleep(50)
            await first.renew(turn)
        async with second.once("order-17") as other:
            assert other.is_running


async def test_the_same_id_with_another_payload_is_refused() -> None:
    dedup = MessageDeduplicator("x")
    async with dedup.once("order-17", payload_hash="a"):
        pass
    async with dedup.once("order-17", payload_hash="a") as turn:
        assert turn.is_done
    with pytest.raises(KeyConflict):
        async with dedup.once("order-17", payload_hash="b"):
            pytest.fail("it was begun")
    assert (dedup.false_positives, dedup.duplicates_detected) == (1, 1), "it only looked like one"


async def test_what_is_remembered_is_bounded_by_age_and_number(virtual_clock: VirtualClock) -> None:
    store = MemoryStore(max_records=3, clock=virtual_clock)
    dedup = MessageDeduplicator("x", store=store, cache_records=2, keep_seconds=100, clock=virtual_clock)
    for number in range(5):
        await dedup.mark_processed(f"msg-{number}")
    assert (dedup.get_stats()["cache_size"], len(store)) == (2, 3)
    assert [(await dedup.check_duplicate(f"msg-{number}"))[0] for number in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    await asyncio.sleep(101)
    assert dedup.get_stats()["expired_removed"] == 2
    assert [(await dedup.check_duplicate(f"msg-{number}"))[0] for number in range(5)] == [False] * 5


def test_a_record_knows_its_age() -> None:
    record = DeduplicationRecord("msg-1", "corr-1", 1000.0)
    assert (record.ttl_seconds, record.is_expired(4600.0), record.is_expired(4600.1)) == (3600, False, True)
    assert record.is_expired()


# --- a store that is away, or slow to answer -------------------------------------------------------------


class Away(MemoryStore):
    """Raises before, or after, it did what it was asked to do."""

    def __init__(self, *, after: bool = False) -> None:
        super().__init__()
        self.after = after
        self.is_away = True

    def _fail(self) -> Steps[None]:
        if self.is_away:
            yield StepCall(self._raise)

    def _raise(self) -> None:
        raise OSError("the store is away")

    def read(self, key: str) -> Steps[Found | None]:
        if not self.after:
            yield from self._fail()
        return (yield from super().read(key))

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        if not self.after:
            yield from self._fail()
        tag = yield from super().add(key, record, keep_seconds)
        if self.after and tag is not None:
            return None  # a client that asks twice by itself: the second time, there is one
        return tag

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        new = yield from super().swap(key, record, tag, keep_seconds)
        return None if self.after else new

    def drop(self, key: str, tag: str) -> Steps[None]:
        yield from self._fail()


async def test_a_store_that_is_away_is_no_licence_to_run_twice() -> None:
    dedup = MessageDeduplicator("x", store=Away())
    with pytest.raises(BrokerUnavailable, match="nothing was looked up"):
        await dedup.check_duplicate("msg-1")
    with pytest.raises(BrokerUnavailable, match="msg-1 was not begun"):
        async with dedup.once("msg-1"):
            pytest.fail("it was begun")
    with pytest.raises(BrokerUnavailable, match="was not recorded"):
        await dedup.mark_processed("msg-1")
    assert dedup.get_stats()["store_failures"] == 3


async def test_open_goes_on_without_the_store_and_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    dedup = MessageDeduplicator("x", store=Away(), on_store_failure="open")
    assert await dedup.check_duplicate("msg-1") == (False, None)
    async with dedup.once("msg-1") as turn:
        assert turn.is_first
    async with dedup.once("msg-1") as turn:
        assert turn.is_done, "this process knows"
    assert dedup.get_stats()["store_failures"] == 2
    assert "going on without it" in caplog.text


async def test_an_own_write_whose_reply_was_lost_is_recognised() -> None:
    dedup = MessageDeduplicator("x", store=Away(after=True))
    async with dedup.once("msg-1") as turn:
        assert turn.is_first, "the record in the store is ours"


async def test_a_record_that_cannot_be_read_is_a_failure_of_the_store() -> None:
    store = MemoryStore()
    dedup = MessageDeduplicator("x", store=store)
    await dedup.mark_processed("msg-1")
    (key,) = store._kept
    run(store.swap(key, b"not ours", "1", 60))
    other = MessageDeduplicator("x", store=store)
    with pytest.raises(BrokerUnavailable, match="nothing was looked up"):
        await other.check_duplicate("msg-1")
    with pytest.raises(BrokerUnavailable, match="was not begun"):
        async with other.once("msg-1"):
            pytest.fail("it was begun")
    generous = MessageDeduplicator("x", store=store, on_store_failure="open")
    assert await generous.check_duplicate("msg-1") == (False, None)


async def test_a_message_without_a_correlation_is_known_all_the_same() -> None:
    store = MemoryStore()
    await MessageDeduplicator("x", store=store).mark_processed("msg-1", None)
    is_duplicate, reason = await MessageDeduplicator("x", store=store).check_duplicate("msg-1", None)
    assert is_duplicate
    assert "None" not in (reason or "")
    async with MessageDeduplicator("x", store=store).once("msg-1", None) as turn:
        assert turn.is_done


class Restless(MemoryStore):
    """Others write there, and remove it again, whenever it is looked at."""

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        del key, record, keep_seconds
        yield from ()
        return None


async def test_what_could_not_be_written_down_is_told() -> None:
    dedup = MessageDeduplicator("x", store=Restless())
    with pytest.raises(BrokerUnavailable, match="msg-1 was done, but that was not recorded"):
        await dedup.mark_processed("msg-1")
    async with dedup.once("msg-1") as turn:
        assert turn.is_running, "nobody can say that it is ours"


async def test_the_error_of_the_handler_is_the_one_that_is_raised() -> None:
    store = Away()
    store.is_away = False
    dedup = MessageDeduplicator("x", store=store)

    async def fail() -> None:
        async with dedup.once("msg-1"):
            store.is_away = True
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert dedup.store_failures == 1


async def test_bad_input_is_refused() -> None:
    with pytest.raises(BadArgument, match="a message id must not be empty"):
        await MessageDeduplicator("x").mark_processed("")
    number: Any = 17
    with pytest.raises(BadArgument, match="17 is not a message id"):
        await MessageDeduplicator("x").check_duplicate(number)
    for seconds in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(BadArgument, match="keep_seconds"):
            MessageDeduplicator("x", keep_seconds=seconds)
        with pytest.raises(BadArgument, match="claim_seconds"):
            MessageDeduplicator("x", claim_seconds=seconds)
    table = boto3.resource("dynamodb", region_name="eu-west-1").Table("orders")
    for wrong_client in (table, boto3.client("sqs", region_name="eu-west-1"), None):
        with pytest.raises(BadArgument, match="is not a DynamoDB client"):
            DynamoStore(wrong_client, "orders")
    service = BlobServiceClient("http://127.0.0.1:1/account", credential="a2V5")
    with pytest.raises(BadArgument, match="get_container_client"):
        MessageDeduplicator("x", service)
    wrong: Any = "perhaps"
    with pytest.raises(BadArgument, match="on_store_failure"):
        MessageDeduplicator("x", on_store_failure=wrong)


def test_the_sync_face_says_the_same() -> None:
    dedup = sync.MessageDeduplicator("x")
    with dedup.once("msg-1") as turn:
        assert turn.is_first
        dedup.renew(turn)
    with pytest.raises(ZeroDivisionError), dedup.once("msg-2"):
        _ = 1 / 0
    with dedup.once("msg-1") as again, dedup.once("msg-2") as other:
        assert (again.is_done, other.is_first) == (True, True)
    dedup.mark_processed("msg-3")
    assert dedup.check_duplicate("msg-3")[0]
    dedup.log_stats()


async def test_log_lines_carry_correlation_and_payload_hash(caplog: pytest.LogCaptureFixture) -> None:
    dedup = MessageDeduplicator("x")
    with caplog.at_level(logging.DEBUG, "tenure.standalone"):
        async with dedup.once("order-17", "c-1", "abc"):
            pass
        async with dedup.once("order-17", "c-2", "abc"):
            pass
        await dedup.mark_processed("order-18", "c-3", "def")
        await dedup.check_duplicate("order-18", "c-4")
    names = ("event_type", "message_id", "correlation_id", "payload_hash")
    assert [tuple(vars(record)[name] for name in names) for record in caplog.records] == [
        ("message_processed", "order-17", "c-1", "abc"),
        ("duplicate_detected", "order-17", "c-2", "abc"),
        ("message_processed", "order-18", "c-3", "def"),
        ("duplicate_detected", "order-18", "c-4", "def"),
    ]


async def test_a_line_about_a_store_that_fails_says_for_which_message(caplog: pytest.LogCaptureFixture) -> None:
    dedup = MessageDeduplicator("x", store=Away(), on_store_failure="open")
    await dedup.check_duplicate("order-1", "c-1")
    async with dedup.once("order-2", "c-2", "abc"):
        pass
    await dedup.mark_processed("order-3", "c-3", "def")
    names = ("event_type", "message_id", "correlation_id", "payload_hash", "container")
    assert [tuple(vars(record)[name] for name in names) for record in caplog.records] == [
        ("message_store_failed", "order-1", "c-1", None, "x"),
        ("message_store_failed", "order-2", "c-2", "abc", "x"),
        ("message_store_failed", "order-3", "c-3", "def", "x"),
    ]


class Sticky(MemoryStore):
    """Gives nothing up."""

    def drop(self, key: str, tag: str) -> Steps[None]:
        raise OSError("away")


async def test_a_turn_that_cannot_be_given_up_says_whose_it_is(caplog: pytest.LogCaptureFixture) -> None:
    dedup = MessageDeduplicator("x", store=Sticky())
    with pytest.raises(ZeroDivisionError):
        async with dedup.once("order-1", "c-1", "abc"):
            _ = 1 / 0
    (record,) = caplog.records
    names = ("event_type", "message_id", "correlation_id", "payload_hash")
    assert tuple(vars(record)[name] for name in names) == ("message_turn_kept", "order-1", "c-1", "abc")
