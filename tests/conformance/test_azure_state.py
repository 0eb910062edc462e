"""The state of Azure keeps the contract in other places too: in Redis, and in a file of one machine."""

import pytest

from tenure.testing.conformance import STATE_SUITES, pytest_classes
from tenure.testing.conformance.broker import Announcing, DeadLetters, Returning

from .azure_harness import AzureHarness, LocalStateHarness, RedisStateHarness

_KINDS = (RedisStateHarness, LocalStateHarness)


@pytest.fixture(params=_KINDS, ids=[kind.__name__ for kind in _KINDS])
def harness(request: pytest.FixtureRequest) -> AzureHarness:
    """A fresh prefix in virtual time."""
    kind: type[AzureHarness] = request.param
    return kind()


globals().update(pytest_classes((*STATE_SUITES, Announcing, DeadLetters, Returning)))
