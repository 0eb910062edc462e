"""Every name on real services, by aiobotocore and the async Azure SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadArgument, LeaseLost
from tenure.settlement import Outcome
from tenure.standalone import (
    MessageDeletionTracker,
    Receipt,
    VisibilityHeartbeat,
    delete_message,
    delete_message_with_retry,
    delete_queue_message_safe,
    verify_message_deletion,
)

from .grounds import KINDS, AsyncGround, async_ground

pytestmark = pytest.mark.real_time


@pytest.fixture(params=KINDS)
def ground(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[AsyncGround]:
    return async_ground(request.param)  # entered for the length of the test


async def until(seen: Callable[[], Any]) -> Any:
    """What is seen, as soon as it is."""
    async with asyncio.timeout(60):
        while True:
            answer = seen()
            found = await answer if isinstance(answer, Awaitable) else answer
            if found:
                return found
            await asyncio.sleep(0.05)


async def test_a_deleted_message_does_not_come_back(ground: AsyncGround) -> None:
    await ground.send()
    message = await ground.receive(30)
    assert await delete_message_with_retry(ground.client, message, **ground.words) == (True, None)
    ground.pass_by(31)
    assert await ground.receive(1) is None
    gone = await verify_message_deletion(ground.client, ground.id_of(message), "x", **ground.words)
    assert gone is (True if ground.queue_url is None else None)


async def test_the_receipt_of_a_lease_that_is_over_deletes_nothing(ground: AsyncGround) -> None:
    await ground.send()
    stale = await ground.receive(30)
    ground.pass_by(31)
    newest = await ground.receive(30)
    deletion = await delete_message(ground.client, stale, **ground.words)
    if ground.kind == "fauxqs":
        assert deletion.outcome is Outcome.DELETED, "SQS may say so; who counts time knows better:"
        counted = Receipt(ground.id_of(stale), stale["ReceiptHandle"], deadline=SYSTEM_CLOCK.monotonic())
        deletion = await delete_message(ground.client, counted, **ground.words)
        assert (deletion.outcome, deletion.ok) == (Outcome.UNKNOWN, False)
    else:
        assert (deletion.outcome, deletion.attempts, deletion.ok) == (Outcome.TAKEN_OVER, 1, False)
    assert (await delete_message(ground.client, newest, **ground.words)).ok


async def test_a_second_delete(ground: AsyncGround) -> None:
    await ground.send()
    message = await ground.receive(30)
    assert (await delete_message(ground.client, message, **ground.words)).ok
    again = await delete_message(ground.client, message, **ground.words)
    says = {"azurite": Outcome.ALREADY_GONE, "ministack": Outcome.TAKEN_OVER, "fauxqs": Outcome.DELETED}
    assert again.outcome is says[ground.kind]
    assert again.attempts == 1


async def test_a_lost_reply_to_a_delete(ground: AsyncGround) -> None:
    await ground.send()
    message = await ground.receive(30)
    rule = ground.proxy.rule(ground.is_delete, ground.proxy.drop_reply, times=1)
    lasting = Receipt.of(message)
    lasting = Receipt(lasting.message_id, lasting.receipt, deadline=SYSTEM_CLOCK.monotonic() + 25)
    deletion = await delete_message(ground.client, lasting, retry_delay=0.05, **ground.words)
    assert (deletion.outcome, rule.used) == (Outcome.DELETED, 1)
    # aiohttp, below the Azure SDK, may ask again by itself when a connection breaks.
    assert deletion.attempts in ((1, 2) if ground.kind == "azurite" else (2,))
    ground.pass_by(31)
    assert await ground.receive(1) is None


async def test_a_lost_reply_to_a_delete_of_which_nobody_counts_the_time(ground: AsyncGround) -> None:
    await ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.drop_reply, times=1)
    deletion = await delete_message(ground.client, await ground.receive(30), retry_delay=0.05, **ground.words)
    says = {"azurite": Outcome.ALREADY_GONE, "ministack": Outcome.UNKNOWN, "fauxqs": Outcome.DELETED}
    assert deletion.outcome is says[ground.kind]


async def test_throttling_and_broken_lines_pass(ground: AsyncGround) -> None:
    await ground.send()
    message = await ground.receive(30)
    ground.proxy.rule(ground.is_delete, ground.proxy.answer(503), times=1)
    ground.proxy.rule(ground.is_delete, ground.proxy.cut, times=1)
    deletion = await delete_message(ground.client, message, 3, 0.05, **ground.words)
    assert deletion.outcome is Outcome.DELETED
    assert deletion.attempts in ((2, 3) if ground.kind == "azurite" else (3,)), "aiohttp, as above"


async def test_where_no_delete_is_answered_nothing_is_known(ground: AsyncGround) -> None:
    await ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.cut)
    deletion = await delete_message(ground.client, await ground.receive(30), 2, 0.05, **ground.words)
    assert (deletion.outcome, deletion.attempts) == (Outcome.UNKNOWN, 2)


async def test_no_permission_is_not_tried_twice(ground: AsyncGround) -> None:
    await ground.send()
    ground.proxy.rule(ground.is_delete, ground.proxy.answer(403))
    tracker = MessageDeletionTracker("x")
    assert not await tracker.delete_and_track(ground.client, await ground.receive(30), **ground.words)
    assert sum(map(ground.is_delete, ground.proxy.calls)) == 1
    assert tracker.get_stats()["outcomes"] == {"unknown": 1}


async def test_by_id_and_receipt_on_a_queue_that_is_not_there(ground: AsyncGround) -> None:
    await ground.send()
    receipt = Receipt.of(await ground.receive(30))
    if ground.queue_url is None:
        await ground.client.delete_queue()
    else:
        await ground.client.delete_queue(QueueUrl=ground.queue_url)
    ok, error = await delete_queue_message_safe(ground.client, receipt.message_id, receipt.receipt, **ground.words)
    assert (ok, (error or "").partition(":")[0]) == (False, "unknown")
    assert sum(map(ground.is_delete, ground.proxy.calls)) == 1


def _heartbeat(ground: AsyncGround, message: Any) -> VisibilityHeartbeat:
    words = {"visibility_timeout": 30, "heartbeat_interval": 0.1, **ground.words}
    return VisibilityHeartbeat(ground.client, message, **words)


async def test_a_heartbeat_holds_a_message_for_longer_than_its_timeout(ground: AsyncGround) -> None:
    await ground.send()
    async with _heartbeat(ground, await ground.receive(30)) as heartbeat:
        for _ in range(4):
            ground.pass_by(20)
            so_far = heartbeat.extension_count
            await until(lambda so_far=so_far: heartbeat.extension_count > so_far + 1)  # type: ignore[misc]
            assert await ground.receive(1) is None
    assert await delete_message_with_retry(ground.client, heartbeat.receipt, **ground.words) == (True, None)
    ground.pass_by(31)
    assert await ground.receive(1) is None


async def test_after_a_heartbeat_the_message_is_back_one_timeout_later(ground: AsyncGround) -> None:
    await ground.send()
    async with _heartbeat(ground, await ground.receive(30)) as heartbeat:
        await until(lambda: heartbeat.extension_count)
    ground.pass_by(15)  # a slow machine takes some of the rest
    assert await ground.receive(1) is None
    ground.pass_by(16)
    assert await ground.receive(1) is not None


async def test_a_heartbeat_goes_on_after_failed_beats(ground: AsyncGround) -> None:
    await ground.send()
    rule = ground.proxy.rule(ground.is_extend, ground.proxy.answer(500), times=2)
    async with _heartbeat(ground, await ground.receive(30)) as heartbeat:
        await until(lambda: heartbeat.extension_count)
    assert (rule.used, heartbeat.last_error) == (2, None)


async def test_a_lost_reply_to_a_beat(ground: AsyncGround) -> None:
    await ground.send()
    rule = ground.proxy.rule(ground.is_extend, ground.proxy.drop_reply, times=1)
    heartbeat = _heartbeat(ground, await ground.receive(30))
    if ground.queue_url is None:
        # The new receipt went with the reply: nobody can renew the message, or delete it.
        with pytest.raises(LeaseLost):
            async with heartbeat:
                await asyncio.sleep(20)
        assert not (await delete_message(ground.client, heartbeat.receipt)).ok
        assert await ground.receive(1) is None, "it is hidden for as long as the beat asked for"
        ground.pass_by(31)
        assert await ground.receive(1) is not None, "and nothing was lost"
    else:
        async with heartbeat:
            await until(lambda: heartbeat.extension_count > 1)
    assert rule.used == 1


async def test_a_heartbeat_notices_that_the_message_is_gone(ground: AsyncGround) -> None:
    await ground.send()
    message = await ground.receive(30)
    assert (await delete_message(ground.client, message, **ground.words)).ok
    heartbeat = _heartbeat(ground, message)
    with pytest.raises(LeaseLost):
        async with heartbeat:
            await asyncio.sleep(20)


async def test_a_heartbeat_never_takes_a_message_back(ground: AsyncGround) -> None:
    await ground.send()
    stale = await ground.receive(30)
    ground.pass_by(31)
    newest = await ground.receive(30)
    heartbeat = _heartbeat(ground, stale)
    with pytest.raises(LeaseLost):
        async with heartbeat:
            await asyncio.sleep(20)
    ground.pass_by(20)
    assert (await delete_message(ground.client, newest, **ground.words)).ok


async def test_a_client_of_sqs_needs_the_url_of_its_queue(ground: AsyncGround) -> None:
    if ground.queue_url is None:
        pytest.skip("not applicable: a client of Azure knows its queue")
    with pytest.raises(BadArgument, match="pass queue_url="):
        await delete_message(ground.client, {"ReceiptHandle": "r"})


async def test_a_thread_and_this_client_do_not_fit(ground: AsyncGround) -> None:
    await ground.send()
    with pytest.raises(BadArgument, match="use `async with`"):
        _heartbeat(ground, await ground.receive(30)).start()
