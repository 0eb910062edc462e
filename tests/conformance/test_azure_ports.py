"""Storage Queues and Azure Tables pass the suites of the two small ports under a row store."""

import os
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.servers.azure import shared_azure

from tenure.adapters import azure
from tenure.adapters.azure.queue import AzureQueue
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.table import AzureTable
from tenure.clock import Clock
from tenure.delivery_queue import DeliveryQueue
from tenure.table import Table
from tenure.testing.conformance.delivery_queues import DeliveryQueues
from tenure.testing.conformance.tables import Tables
from tenure.testing.row_harness import QueueHarness, TableHarness


def session_of(clock: Clock, *words: str) -> Session:
    """A prefix that nobody else has, in virtual time."""
    url = shared_azure().url(f"t{os.urandom(6).hex()}", "core=rowstore", *words)

    def tell_time(request: Any) -> None:
        request.headers["x-test-now"] = repr(clock.monotonic() + 1_767_225_600.0)

    return Session(azure.read_options(url, urlsplit(url), {}), clock, hook=tell_time)


class AzureTables(TableHarness):
    """An empty table in the account."""

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._partitions = partitions

    async def connect(self) -> Table:
        table = AzureTable(session_of(self.clock, f"partitions={self._partitions}"))
        await table.open()
        return table


class AzureQueues(QueueHarness):
    """Queues under a prefix of their own."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    async def connect(self) -> DeliveryQueue:
        queue = AzureQueue(session_of(self.clock, f"encoding={self._encoding}"))
        await queue.open()
        return queue


class OnTables:
    """The table."""

    @pytest.fixture(params=[1, 3])
    def harness(self, request: pytest.FixtureRequest) -> AzureTables:
        """With one partition, and with several."""
        return AzureTables(request.param)


class OnQueues:
    """The queue."""

    @pytest.fixture(params=["plain", "base64"])
    def harness(self, request: pytest.FixtureRequest) -> AzureQueues:
        """In both encodings."""
        return AzureQueues(request.param)


class TestTables(OnTables, Tables):
    """Azure Tables."""


class TestDeliveryQueues(OnQueues, DeliveryQueues):
    """Storage Queues."""
