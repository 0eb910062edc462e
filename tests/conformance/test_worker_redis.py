"""The real worker keeps its promises over Redis."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .redis_harness import SINGLE, RedisHarness


@pytest.fixture(params=SINGLE, ids=[kind.kind for kind in SINGLE])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


globals().update(pytest_classes(WORKER_SUITES))
