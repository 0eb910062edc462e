"""A task of 25 minutes on leases of 10, one beat failing: nobody else ever gets it.

The numbers are those of a real worker on SQS: a visibility of 600 s, a beat every 240 s that asks for 300 s. On the
virtual clock, over the memory broker with SQS's traits; once with the one piece on a bare client, once with the worker.
"""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tenure.adapters import aws, memory
from tenure.adapters.aws.sqs import delivery_traits
from tenure.broker import Broker
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseState
from tenure.message import MessageState
from tenure.owner import Owner
from tenure.rowstore.traits import broker_traits
from tenure.settlement import Ack, Outcome
from tenure.standalone import VisibilityHeartbeat
from tenure.state import State
from tenure.tasks.context import Context
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage

LEASE, INTERVAL, EXTENSION = 600.0, 240.0, 300.0
WORK = 25 * 60.0

OPTIONS = aws.Options(region="eu-west-1")
SQS = broker_traits(aws.settings(OPTIONS), delivery_traits(OPTIONS), can_scan=True)


class SqsLikeHarness(Harness):
    """The in-memory broker with the traits of SQS."""

    lease_seconds = LEASE

    def __init__(self) -> None:
        """A private store."""
        super().__init__()
        self._pair = memory.connect(
            clock=self.clock, exact=False, min_lease_seconds=SQS.min_lease_seconds,
            max_lease_seconds=SQS.max_lease_seconds, max_hold_seconds=SQS.max_hold_seconds, body_limit=SQS.body_limit,
            batch_limit=SQS.batch_limit, priority_levels=SQS.priority_levels, fairness=SQS.fairness,
        )  # fmt: skip

    async def connect(self) -> tuple[Broker, State]:
        return self._pair

    async def kill(self, owner: Owner) -> None:
        self._pair[1].kill(owner.id)


@pytest.fixture
def house() -> SqsLikeHarness:
    return SqsLikeHarness()


class BareClient:
    """What a heartbeat asks of a client of SQS, asked of the broker; one of the beats fails."""

    def __init__(self, house: Harness, lease: Lease, failing: int) -> None:
        self.beats: list[float] = []
        self._house = house
        self._lease = lease
        self._failing = failing
        self._ends = house.clock.monotonic() + LEASE

    async def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> Any:  # noqa: N803
        """As SQS: from now on, even if that is shorter. So a beat that would shorten the lease must not come."""
        assert (QueueUrl, ReceiptHandle) == ("url", "receipt")
        now = self._house.clock.monotonic()
        self.beats.append(now)
        if len(self.beats) == self._failing:
            raise ConnectionResetError
        assert now + VisibilityTimeout > self._ends, "a beat shortens the lease"
        self._ends = now + VisibilityTimeout
        (self._lease,) = await self._house.broker.touch(
            [msgspec.structs.replace(self._lease, seconds=float(VisibilityTimeout))]
        )
        assert self._lease.state is LeaseState.HELD

    async def delete_message(self, **_words: str) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
async def test_600_240_300_on_a_bare_client_keeps_it(
    house: SqsLikeHarness, failing: int, caplog: pytest.LogCaptureFixture
) -> None:
    lease = await house.leased(house.stranger())
    began = house.clock.monotonic()
    client = BareClient(house, lease, failing)
    rival = asyncio.create_task(_try_all_the_time(house))
    message = {"MessageId": lease.id, "ReceiptHandle": "receipt"}
    with caplog.at_level(logging.WARNING):
        async with VisibilityHeartbeat(
            client, message, queue_url="url", visibility_timeout=LEASE, extension_seconds=EXTENSION,
            heartbeat_interval=INTERVAL, clock=house.clock,
        ):  # fmt: skip
            await asyncio.sleep(WORK)
    assert "one missed beat ends the lease" in caplog.text, "an interval over a third is not warned of"
    assert "heartbeat_extension_failed" in {getattr(record, "event_type", "") for record in caplog.records}
    assert house.clock.monotonic() - began == WORK
    assert len(client.beats) > failing
    (settlement,) = await house.broker.ack([Ack(client._lease)])
    assert settlement.outcome is Outcome.DELETED
    assert not rival.done()
    rival.cancel()


async def _try_all_the_time(house: Harness) -> None:
    """A second worker, as others would be: it sweeps and leases, and gets nothing."""
    while True:
        await house.sweep()
        got = await house.broker.lease(house.request("rival/1"))
        assert got == [], "somebody else got it"
        await asyncio.sleep(house.sweep_interval_seconds)


@pytest.mark.parametrize("missed", [1, 2, 5])
async def test_a_lease_of_600_under_the_worker_keeps_it(house: SqsLikeHarness, missed: int) -> None:
    """The worker beats at a third of its lease, and tries again within the interval."""
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)
            await asyncio.sleep(WORK)

        id = await stage.submit(work.bind())
        actor = await stage.start()
        beats = 0

        def fail_one(name: str, _arguments: tuple[Any, ...]) -> None:
            nonlocal beats
            beats += name == "broker.touch"
            if name == "broker.touch" and beats == missed:
                raise BrokerUnavailable("away", outcome_unknown=True)

        actor.wire.spy = fail_one
        await stage.until(lambda: runs == [id])
        rival = await stage.start()
        record = await stage.ended(id, within=WORK + LEASE)
        assert (record.state, runs) == (MessageState.COMPLETED, [id])
        assert actor.counts["heartbeat_failed"] == 1
        assert "lease_lost" not in actor.counts
        assert rival.counts.get("completed", 0) == 0
        assert (await house.depth(QUEUE)).leased == 0
