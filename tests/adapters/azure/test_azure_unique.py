"""A sender that dies with a message to be unique on its way: nobody's message is lost, and nobody waits for ever."""

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.conformance.azure_harness import AzureHarness
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure.adapters import azure
from tenure.broker import Sent
from tenure.errors import BrokerUnavailable
from tenure.rules.uniqueness import PATIENCE_SECONDS


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    """Before the queues."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield proxy


@pytest.fixture
def house(proxy: HttpProxy) -> AzureHarness:
    """Azurite, its queues behind a proxy."""
    harness = AzureHarness()
    url = harness._server.url(f"t{os.urandom(6).hex()}", queue=proxy.port)
    harness._options = azure.read_options(url, urlsplit(url), {})
    return harness


def _puts(call: Call) -> bool:
    return call.method == "POST" and "/messages" in call.path


async def test_what_perhaps_never_arrived_stands_for_nothing(house: AzureHarness, proxy: HttpProxy) -> None:
    await house.put(queue="other")
    first, second = house.message(unique="site-1"), house.message(unique="site-1")
    proxy.rule(_puts, proxy.cut, times=1)
    with pytest.raises(BrokerUnavailable):
        await house.send(first)
    began = house.clock.monotonic()
    assert await house.send(second) == [Sent(second.id)]
    assert house.clock.monotonic() - began <= 2 * PATIENCE_SECONDS
    assert await house.send(house.message(unique="site-1")) == [Sent(second.id, duplicate=True)]
    assert second.id in {lease.id for lease in await house.lease_all(house.stranger())}


async def test_a_sender_that_repeats_itself_is_known_by_its_id(house: AzureHarness, proxy: HttpProxy) -> None:
    await house.put(queue="other")
    first, second = house.message(unique="site-1"), house.message(unique="site-1")
    proxy.rule(_puts, proxy.cut, times=1)
    with pytest.raises(BrokerUnavailable):
        await house.send(first)
    assert await house.send(first) == [Sent(first.id, duplicate=True)]
    assert await house.send(second) == [Sent(first.id, duplicate=True)]
    assert [lease.id for lease in await house.lease_all(house.stranger())] == [first.id]


async def test_a_word_is_forgotten_with_its_messages(house: AzureHarness) -> None:
    done = await house.leased(house.stranger(), unique="site-1")
    await house.complete(done)
    waits = await house.put(unique="site-2")
    await house.advance(house._options.keep_seconds + 10.0, sweeping=False)
    await house.state.journal.prune(house._options.keep_seconds)
    words = [row for part in house._store.parts for row in await house._store.rows.scan(part, "u:")]
    assert len(words) == 1
    assert await house.send(house.message(unique="site-2")) == [Sent(waits.id, duplicate=True)]
