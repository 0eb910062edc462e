"""Redis keeps the contract, on Valkey 9, on Redis 6.2 and on Debian's 7.0."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .redis_harness import SINGLE, RedisHarness


@pytest.fixture(params=SINGLE, ids=[kind.kind for kind in SINGLE])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


globals().update(pytest_classes(ALL_SUITES))
