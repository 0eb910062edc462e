"""An SDK for each test, and a store with webhooks."""

from collections.abc import Iterator

import pytest
from tests.monitoring.otel.sdk import Sdk
from tests.webhooks.world import World


@pytest.fixture
def sdk() -> Iterator[Sdk]:
    made = Sdk()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


@pytest.fixture
def world() -> World:
    return World()
