"""SQS keeps the contract where a delete with a stale receipt answers 200 and deletes nothing (fauxqs)."""

import pytest

from tenure.testing.conformance import BROKER_SUITES, pytest_classes

from .aws_harness import FauxqsHarness


@pytest.fixture
def harness() -> FauxqsHarness:
    """Fresh queues in virtual time."""
    return FauxqsHarness()


globals().update(pytest_classes(BROKER_SUITES))
