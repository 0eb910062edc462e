"""One call about one message that goes wrong, under the shared core: the others of its batch do not notice."""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.conformance.azure_harness import RowStoreAzureHarness
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure.adapters import azure
from tenure.lease import LeaseState
from tenure.settlement import Ack, Nack, Outcome
from tenure.testing.harness import BROKEN


class ProxiedHarness(RowStoreAzureHarness):
    """The queues behind a proxy."""

    def __init__(self, proxy: HttpProxy) -> None:
        """Everything passes at first."""
        super().__init__()
        url = self._server.url(f"t{os.urandom(6).hex()}", *self.options, queue=proxy.port)
        self._options = azure.read_options(url, urlsplit(url), {})
        self.proxy = proxy


@pytest.fixture
def harness() -> Iterator[ProxiedHarness]:
    """In virtual time."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield ProxiedHarness(proxy)


def _is(method: str) -> Any:
    def matches(call: Call) -> bool:
        return call.method == method and "/messages/" in call.path

    return matches


async def test_a_hide_that_the_busy_service_refuses_once_spares_its_batch(harness: ProxiedHarness) -> None:
    await harness.put_many(3)
    leases = await harness.lease_all(harness.stranger())
    await harness.advance(harness.lease_seconds * 0.6)
    harness.proxy.rule(_is("PUT"), harness.proxy.answer(503, b""), times=1)
    touched = await harness.broker.touch(leases)
    assert {lease.state for lease in touched} == {LeaseState.HELD}
    settlements = await harness.broker.nack([Nack(lease, 0.0, BROKEN) for lease in touched])
    assert {one.outcome for one in settlements} == {Outcome.RETURNED}
    assert len(await harness.lease_all(harness.stranger())) == 3


async def test_a_delete_that_is_refused_for_good_spares_its_batch(harness: ProxiedHarness) -> None:
    await harness.put_many(3)
    leases = await harness.lease_all(harness.stranger())
    refused = {"x-ms-error-code": "OutOfRangeQueryParameterValue"}
    harness.proxy.rule(_is("DELETE"), harness.proxy.answer(400, b"", **refused), times=1)
    settlements = await harness.broker.ack([Ack(lease) for lease in leases])
    assert {one.outcome for one in settlements} == {Outcome.DELETED}
    await harness.advance(harness.lease_seconds + 30.0)
    assert await harness.lease_all(harness.stranger()) == []
