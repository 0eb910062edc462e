"""A cluster keeps the contract too."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .redis_harness import ClusterHarness


@pytest.fixture
def harness() -> ClusterHarness:
    """Fresh keys in virtual time."""
    return ClusterHarness()


globals().update(pytest_classes(ALL_SUITES))
