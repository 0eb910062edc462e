"""The twelve hours that SQS gives a delivery, delays that are longer than it knows, and order over returns."""

import json
from typing import Any, ClassVar

import pytest
from tests.adapters.aws.house import ProxiedHarness, asks
from tests.conformance.aws_harness import FauxqsHarness, SqsHarness

from tenure.lease import Lease, LeaseState
from tenure.message import Counters
from tenure.settlement import Ack, Nack
from tenure.testing.harness import BROKEN

HOUR = 3600.0
TWELVE_HOURS = 43_200
FIFO = "orders.fifo"


class LongHarness(ProxiedHarness):
    """With the hold that real ones have."""

    changes: ClassVar[dict[str, Any]] = {}
    sweep_interval_seconds = HOUR


@pytest.fixture
def house() -> LongHarness:
    return LongHarness()


@pytest.fixture(params=[SqsHarness, FauxqsHarness], ids=["ministack", "fauxqs"])
def either(request: pytest.FixtureRequest) -> SqsHarness:
    kind: type[SqsHarness] = request.param
    return kind()


def _asked(house: LongHarness) -> list[int]:
    """For how long copies were to be hidden, in the order of the calls."""
    calls = [call for call in house.proxy.calls if asks("ChangeMessageVisibilityBatch")(call)]
    return [entry["VisibilityTimeout"] for call in calls for entry in json.loads(call.body)["Entries"]]


async def test_a_lease_is_never_asked_for_beyond_twelve_hours_since_the_receive(house: LongHarness) -> None:
    lease = await house.leased(house.stranger(), seconds=4 * HOUR)
    received = house.clock.monotonic()
    said = 0
    while house.clock.monotonic() < received + 11 * HOUR:
        await house.advance(HOUR)
        (lease,) = await house.broker.touch([lease])
        assert lease.state is LeaseState.HELD
        *_, seconds = _asked(house)
        assert house.clock.monotonic() - received + seconds <= TWELVE_HOURS
        said += 1
    assert said == 11
    assert lease.deadline <= received + 11.5 * HOUR + 1
    # When the hold is over it is others', as a lease that lapsed.
    await house.advance(2 * HOUR)
    again = await house.lease_one(house.stranger())
    assert (again.id, (await house.broker.touch([lease]))[0].state) == (lease.id, LeaseState.LOST)


async def test_a_delay_after_a_long_hold_goes_in_hops_within_the_twelve_hours(house: LongHarness) -> None:
    lease = await house.leased(house.stranger(), seconds=8 * HOUR)
    await house.advance(7 * HOUR, sweeping=False)
    await house.broker.nack([Nack(lease, 10 * HOUR, BROKEN)])
    *_, seconds = _asked(house)
    assert 7 * HOUR + seconds <= TWELVE_HOURS
    await house.advance(9.9 * HOUR, sweeping=False)
    assert await house.lease_all(house.stranger()) == []
    await house.advance(0.2 * HOUR, sweeping=False)
    again = await house.lease_one(house.stranger())
    assert (again.id, again.counters) == (lease.id, Counters(deliveries=2, attempts=1))


async def test_a_delay_of_two_hours_is_kept_and_counts_nothing(either: SqsHarness) -> None:
    message = await either.put(delay_seconds=2 * HOUR)
    looked, began = 0, either.clock.monotonic()
    while either.clock.monotonic() < began + 2 * HOUR - 301:
        await either.advance(300, sweeping=False)
        assert await either.lease_all(either.stranger()) == []
        looked += 1
    await either.advance(400, sweeping=False)
    lease = await either.lease_one(either.stranger())
    assert (lease.id, lease.counters, looked > 20) == (message.id, Counters(deliveries=1), True)


async def _lend(house: SqsHarness, owner: str) -> list[Lease]:
    return await house.lease(owner, 10, queues=(FIFO,))


async def test_a_fifo_group_stays_in_order_over_failures_and_a_crash(either: SqsHarness) -> None:
    sent = [(await either.put(queue=FIFO, headers={"group": "a"})).id for _ in range(3)]
    ran: list[str] = []
    (first,) = await _lend(either, either.stranger())
    await either.broker.nack([Nack(first, 0.0, BROKEN)])
    owner = await either.owner()
    (again,) = await _lend(either, owner.id)
    assert again.id == sent[0]
    await either.kill(owner)  # its process dies while it has the first
    assert await _lend(either, either.stranger()) == []
    await either.broker.retire(owner.id, crashed=True)
    while leases := await _lend(either, either.stranger()):
        (lease,) = leases
        ran.append(lease.id)
        await either.broker.ack([Ack(lease)])
    assert ran == sent


@pytest.mark.parametrize("doubt", ["the holder's", "the sweeper's"])
async def test_a_process_in_doubt_of_the_time_takes_no_lease_early(house: LongHarness, doubt: str) -> None:
    """The holder may have heard that it is up to a second earlier than it is; or the sweeper, that it is later."""
    table = house.broker._store.rows.table  # type: ignore[attr-defined]
    await house.sweep()
    with pytest.MonkeyPatch.context() as patch:
        if doubt == "the holder's":
            patch.setattr(table, "latest", lambda: table.now() + 0.9)
        lease = await house.leased(house.stranger(), seconds=10.0)
    with pytest.MonkeyPatch.context() as patch:
        if doubt == "the sweeper's":
            patch.setattr(table, "earliest", lambda: table.now() - 0.9)
        await house.advance(10.5, sweeping=False)
        early = await house.sweep()
        await house.advance(0.6, sweeping=False)
        assert (early.returned, (await house.sweep()).returned) == ((), (lease.id,))
