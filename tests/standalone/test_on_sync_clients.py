"""Every name on real services, by boto3 and the sync Azure SDK."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadArgument, LeaseLost
from tenure.settlement import Outcome
from tenure.standalone.sync import (
    MessageDeletionTracker,
    Receipt,
    VisibilityHeartbeat,
    delete_message,
    delete_message_with_retry,
    delete_queue_message_safe,
    verify_message_deletion,
)

from .grounds import KINDS, SyncGround, sync_ground, until


@pytest.fixture(params=KINDS)
def ground(request: pytest.FixtureRequest) -> Iterator[SyncGround]:
    with sync_ground(request.param) as ground:
        yield ground


def test_a_deleted_message_does_not_come_back(ground: SyncGround) -> None:
    ground.send()
    message = ground.receive(30)
    assert delete_message_with_retry(ground.client, message, **ground.words) == (True, None)
    ground.pass_by(31)
    assert ground.receive(1) is None
    gone = verify_message_deletion(ground.client, ground.id_of(message), "x", **ground.words)
    assert gone is (True if ground.queue_url is None else None)


def test_the_receipt_of_a_lease_that_is_over_deletes_nothing(ground: SyncGround) -> None:
    ground.send()
    stale = ground.receive(30)
    ground.pass_by(31)
    newest = ground.receive(30)
    deletion = delete_message(ground.client, stale, **ground.words)
    if ground.kind == "fauxqs":
        assert deletion.outcome is Outcome.DELETED, "SQS may say so; who counts time knows better:"
        counted = Receipt(ground.id_of(stale), stale["ReceiptHandle"], deadline=SYSTEM_CLOCK.monotonic())
        deletion = delete_message(ground.client, counted, **ground.words)
        assert (deletion.outcome, deletion.ok) == (Outcome.UNKNOWN, False)
    else:
        assert (deletion.outcome, deletion.attempts, deletion.ok) == (Outcome.TAKEN_OVER, 1, False)
    assert delete_message(ground.client, newest, **ground.words).ok


def test_a_second_delete(ground: SyncGround) -> None:
    ground.send()
    message = ground.receive(30)
    assert delete_message(ground.client, message, **ground.words).ok
    again = delete_message(ground.client, message, **ground.words)
    says = {"azurite": Outcome.ALREADY_GONE, "ministack": Outcome.TAKEN_OVER, "fauxqs": Outcome.DELETED}
    assert again.outcome is says[ground.kind]
    assert again.attempts == 1


def test_a_lost_reply_to_a_delete(ground: SyncGround) -> None:
    ground.send()
    message = ground.receive(30)
    rule = ground.proxy.rule(ground.is_delete, ground.proxy.drop_reply, times=1)
    lasting = Receipt.of(message)
    lasting = Receipt(lasting.message_id, lasting.receipt, deadline=SYSTEM_CLOCK.monotonic() + 25)
    deletion = delete_message(ground.client, lasting, retry_delay=0.05, **ground.words)
    assert (deletion.outcome, deletion.attempts, rule.used) == (Outcome.DELETED, 2, 1)
    ground.pass_by(31)
    assert ground.receive(1) is None


def test_a_lost_reply_to_a_delete_of_which_nobody_counts_the_time(ground: SyncGround) -> None:
    ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.drop_reply, times=1)
    deletion = delete_message(ground.client, ground.receive(30), retry_delay=0.05, **ground.words)
    says = {"azurite": Outcome.ALREADY_GONE, "ministack": Outcome.UNKNOWN, "fauxqs": Outcome.DELETED}
    assert deletion.outcome is says[ground.kind]


def test_throttling_and_broken_lines_pass(ground: SyncGround) -> None:
    ground.send()
    message = ground.receive(30)
    ground.proxy.rule(ground.is_delete, ground.proxy.answer(503), times=1)
    ground.proxy.rule(ground.is_delete, ground.proxy.cut, times=1)
    deletion = delete_message(ground.client, message, 3, 0.05, **ground.words)
    assert (deletion.outcome, deletion.attempts) == (Outcome.DELETED, 3)


def test_where_no_delete_is_answered_nothing_is_known(ground: SyncGround) -> None:
    ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.cut)
    deletion = delete_message(ground.client, ground.receive(30), 2, 0.05, **ground.words)
    assert (deletion.outcome, deletion.attempts) == (Outcome.UNKNOWN, 2)


def test_no_permission_is_not_tried_twice(ground: SyncGround) -> None:
    ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.answer(403))
    tracker = MessageDeletionTracker("x")
    assert not tracker.delete_and_track(ground.client, ground.receive(30), **ground.words)
    assert sum(map(ground.is_delete, ground.proxy.calls)) == 1
    assert tracker.get_stats()["outcomes"] == {"unknown": 1}


def test_by_id_and_receipt_on_a_queue_that_is_not_there(ground: SyncGround) -> None:
    ground.send()
    receipt = Receipt.of(ground.receive(30))
    if ground.queue_url is None:
        ground.client.delete_queue()
    else:
        ground.client.delete_queue(QueueUrl=ground.queue_url)
    ok, error = delete_queue_message_safe(ground.client, receipt.message_id, receipt.receipt, **ground.words)
    assert (ok, (error or "").partition(":")[0]) == (False, "unknown")
    assert sum(map(ground.is_delete, ground.proxy.calls)) == 1


def _heartbeat(ground: SyncGround, message: Any) -> VisibilityHeartbeat:
    words = {"visibility_timeout": 30, "heartbeat_interval": 0.1, **ground.words}
    return VisibilityHeartbeat(ground.client, message, **words)


def test_a_heartbeat_holds_a_message_for_longer_than_its_timeout(ground: SyncGround) -> None:
    ground.send()
    with _heartbeat(ground, ground.receive(30)) as heartbeat:
        for _ in range(4):
            ground.pass_by(20)
            so_far = heartbeat.extension_count
            until(lambda so_far=so_far: heartbeat.extension_count > so_far + 1)  # type: ignore[misc]
            assert ground.receive(1) is None
    assert delete_message_with_retry(ground.client, heartbeat.receipt, **ground.words) == (True, None)
    ground.pass_by(31)
    assert ground.receive(1) is None


def test_after_a_heartbeat_the_message_is_back_one_timeout_later(ground: SyncGround) -> None:
    ground.send()
    with _heartbeat(ground, ground.receive(30)) as heartbeat:
        until(lambda: heartbeat.extension_count)
    ground.pass_by(15)  # a slow machine takes some of the rest
    assert ground.receive(1) is None
    ground.pass_by(16)
    assert ground.receive(1) is not None


def test_a_heartbeat_goes_on_after_failed_beats(ground: SyncGround) -> None:
    ground.send()
    rule = ground.proxy.rule(ground.is_extend, ground.proxy.answer(500), times=2)
    with _heartbeat(ground, ground.receive(30)) as heartbeat:
        until(lambda: heartbeat.extension_count)
    assert (rule.used, heartbeat.last_error) == (2, None)


def test_a_heartbeat_notices_that_the_message_is_gone(ground: SyncGround) -> None:
    ground.send()
    message = ground.receive(30)
    assert delete_message(ground.client, message, **ground.words).ok
    heartbeat = _heartbeat(ground, message)
    with pytest.raises(LeaseLost), heartbeat:
        until(lambda: heartbeat.is_lost)


def test_a_heartbeat_never_takes_a_message_back(ground: SyncGround) -> None:
    ground.send()
    stale = ground.receive(30)
    ground.pass_by(31)
    newest = ground.receive(30)
    heartbeat = _heartbeat(ground, stale)
    with pytest.raises(LeaseLost), heartbeat:
        until(lambda: heartbeat.is_lost)
    ground.pass_by(20)
    assert delete_message(ground.client, newest, **ground.words).ok


def test_a_client_of_sqs_needs_the_url_of_its_queue(ground: SyncGround) -> None:
    if ground.queue_url is None:
        pytest.skip("not applicable: a client of Azure knows its queue")
    with pytest.raises(BadArgument, match="pass queue_url="):
        delete_message(ground.client, {"ReceiptHandle": "r"})
