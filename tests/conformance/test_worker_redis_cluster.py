"""The real worker keeps its promises over a cluster too."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .redis_harness import ClusterHarness


@pytest.fixture
def harness() -> ClusterHarness:
    """Fresh keys in virtual time."""
    return ClusterHarness()


globals().update(pytest_classes(WORKER_SUITES))
