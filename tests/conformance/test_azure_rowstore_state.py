"""The shared core keeps the contract with its rows elsewhere (`state=redis://…`, `state=local`), on Storage Queues."""

import pytest

from tenure.testing.conformance import STATE_SUITES, pytest_classes
from tenure.testing.conformance.broker import Announcing, DeadLetters, Returning

from .azure_harness import RowStoreAzureHarness, RowStoreLocalHarness, RowStoreRedisHarness

_KINDS = (RowStoreRedisHarness, RowStoreLocalHarness)


@pytest.fixture(params=_KINDS, ids=[kind.__name__ for kind in _KINDS])
def harness(request: pytest.FixtureRequest) -> RowStoreAzureHarness:
    """A fresh prefix in virtual time."""
    kind: type[RowStoreAzureHarness] = request.param
    return kind()


globals().update(pytest_classes((*STATE_SUITES, Announcing, DeadLetters, Returning)))
