"""SQS keeps the contract where a stale receipt is an error (ministack)."""

import pytest

from tenure.testing.conformance import BROKER_SUITES, pytest_classes

from .aws_harness import SqsHarness


@pytest.fixture
def harness() -> SqsHarness:
    """Fresh queues in virtual time."""
    return SqsHarness()


globals().update(pytest_classes(BROKER_SUITES))
