"""A sender that dies with a message to be unique on its way: nobody's message is lost, and nobody waits for ever."""

import pytest
from tests.adapters.aws.house import ProxiedHarness, asks

from tenure.broker import Sent
from tenure.errors import BrokerUnavailable
from tenure.rules.uniqueness import PATIENCE_SECONDS


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


@pytest.mark.parametrize("way", ["cut", "drop_reply"])
async def test_what_perhaps_never_arrived_stands_for_nothing(house: ProxiedHarness, way: str) -> None:
    await house.put(queue="other")
    first, second = house.message(unique="site-1"), house.message(unique="site-1")
    rule = house.proxy.rule(asks("SendMessageBatch"), getattr(house.proxy, way), times=1)
    with pytest.raises(BrokerUnavailable):
        await house.send(first)
    assert rule.used == 1
    began = house.clock.monotonic()
    assert await house.send(second) == [Sent(second.id)]
    assert house.clock.monotonic() - began <= 2 * PATIENCE_SECONDS
    third = house.message(unique="site-1")
    assert await house.send(third) == [Sent(second.id, duplicate=True)]
    lent = {lease.id for lease in await house.lease_all(house.stranger())}
    assert lent == ({second.id} if way == "cut" else {first.id, second.id})


async def test_a_sender_that_repeats_itself_is_known_by_its_id(house: ProxiedHarness) -> None:
    await house.put(queue="other")
    first, second = house.message(unique="site-1"), house.message(unique="site-1")
    house.proxy.rule(asks("SendMessageBatch"), house.proxy.cut, times=1)
    with pytest.raises(BrokerUnavailable):
        await house.send(first)
    assert await house.send(first) == [Sent(first.id, duplicate=True)]
    assert await house.send(second) == [Sent(first.id, duplicate=True)]
    assert [lease.id for lease in await house.lease_all(house.stranger())] == [first.id]


async def test_only_messages_that_are_to_be_unique_pay(house: ProxiedHarness) -> None:
    await house.put()

    async def calls(**fields: str) -> int:
        before = len(house.proxy.calls)
        await house.send(house.message(**fields))
        return len(house.proxy.calls) - before

    assert await calls() == 2, "the entry, and the copy"
    assert await calls(unique="site-1") == 5
    assert await calls(unique="site-1") == 2, "one waits"
