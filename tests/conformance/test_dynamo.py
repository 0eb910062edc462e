"""SQS and DynamoDB together keep the contract where a stale receipt is an error (ministack)."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .aws_harness import DynamoHarness


@pytest.fixture
def harness() -> DynamoHarness:
    """Fresh queues in virtual time."""
    return DynamoHarness()


globals().update(pytest_classes(ALL_SUITES))
