"""The real worker keeps its promises over SQS."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .aws_harness import FauxqsHarness


@pytest.fixture
def harness() -> FauxqsHarness:
    """Fresh queues in virtual time."""
    return FauxqsHarness()


globals().update(pytest_classes(WORKER_SUITES))
