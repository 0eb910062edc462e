"""Trouble that begins while workers are at work: credentials that expire, a queue or table that goes, silence.

What is wrong from the beginning is a mistake, and refuses to start (`test_aws_bad_input.py`). What was right a moment
ago is an outage: work goes on, nothing is settled wrongly, and all is well when it is over.
"""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest
from tests.adapters.aws.house import ProxiedHarness, asks

from tenure.adapters.aws.session import Session
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.testing.harness import QUEUE
from tenure.testing.workers import Stage


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "ExpiredToken"),
        (400, "ExpiredTokenException"),
        (403, "InvalidClientTokenId"),
        (400, "AccessDeniedException"),
        (400, "ResourceNotFoundException"),
        (400, "QueueDoesNotExist"),
    ],
)
async def test_what_is_refused_in_the_middle_is_an_outage_that_ends(
    house: ProxiedHarness, status: int, code: str
) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []
        gate = asyncio.Event()

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)
            await gate.wait()

        first = await stage.submit(work.bind())
        second = await stage.submit(work.bind())
        await stage.start()
        await stage.until(lambda: len(runs) == 2)
        body = b'{"__type":"com.amazonaws#%s","message":"not now"}' % code.encode()
        house.proxy.rule(lambda _: True, house.proxy.answer(status, body, content_type="application/x-amz-json-1.0"))
        gate.set()
        await asyncio.sleep(house.lease_seconds / 2)
        house.proxy.clear()
        for id in (first, second):
            assert (await stage.ended(id)).state is MessageState.COMPLETED
        third = await stage.submit(work.bind())
        assert (await stage.ended(third)).state is MessageState.COMPLETED
        assert sorted(runs) == sorted([first, second, third])


async def test_a_queue_that_is_deleted_and_made_again_is_served_again(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        first = await stage.submit(work.bind())
        await stage.start()
        assert (await stage.ended(first)).state is MessageState.COMPLETED
        sqs = house._behind()
        sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"])
        assert (await house.depth(QUEUE)).ready == 0
        await asyncio.sleep(20)
        second = await stage.submit(work.bind())
        assert (await stage.ended(second)).state is MessageState.COMPLETED
        assert runs == [first, second]


@pytest.mark.real_time
@pytest.mark.parametrize("operation", ["BatchGetItem", "SendMessageBatch"])
async def test_an_answer_that_does_not_come_is_not_waited_for_as_long_as_a_poll(operation: str) -> None:
    house = ProxiedHarness()
    async with house:
        await house.put()
        house.proxy.rule(asks(operation), house.proxy.hold)
        began = asyncio.get_running_loop().time()
        with pytest.raises(BrokerUnavailable):
            await (house.state.records.get("nobody") if operation == "BatchGetItem" else house.put())
        # Its connections wait for 5 s here; a long poll, which others need, for 20 s more.
        assert asyncio.get_running_loop().time() - began < 15
        house.proxy.let_go()


@pytest.mark.real_time
async def test_credentials_that_must_be_renewed_are_renewed_on_every_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They expire so soon that every call asks for new ones, which takes a while: calls of both loops wait for them.
    said = '{"Version":1,"AccessKeyId":"a","SecretAccessKey":"s","SessionToken":"t","Expiration":"%s"}'
    process = f"sleep 0.2; printf '{said}' $(date -u -d '+100 seconds' +%Y-%m-%dT%H:%M:%SZ)"
    (tmp_path / "process").write_text(f"#!/bin/sh\n{process}\n")
    (tmp_path / "process").chmod(0o755)
    (tmp_path / "config").write_text(f"[profile soon]\ncredential_process = {tmp_path}/process\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    house = ProxiedHarness()
    options = msgspec.structs.replace(house._options, profile="soon")
    link = Session(options, SYSTEM_CLOCK)
    both_known = threading.Barrier(2)

    async def ask(link: Session) -> list[object]:
        await link.open()
        try:
            await link.call("sqs", "list_queues", "there")
            await asyncio.to_thread(both_known.wait)
            async with asyncio.timeout(120):
                some = (link.call("sqs", "list_queues", "there") for _ in range(5))
                return list(await asyncio.gather(*some, return_exceptions=True))
        finally:
            await link.close()

    try:
        first = asyncio.create_task(ask(link))
        await asyncio.sleep(1)  # it knows where they come from when the second one asks
        second = asyncio.to_thread(lambda: asyncio.run(ask(link.twin())))
        answers = [one for some in await asyncio.gather(first, second) for one in some]
    finally:
        house.proxy.stop()
    assert [error for error in answers if isinstance(error, Exception)] == []
