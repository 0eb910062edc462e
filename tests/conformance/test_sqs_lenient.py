"""SQS keeps the contract where a stale receipt deletes: none is used before the state has said that it may be."""

import pytest

from tenure.testing.conformance import BROKER_SUITES, pytest_classes

from .aws_harness import LenientHarness


@pytest.fixture
def harness() -> LenientHarness:
    """Fresh queues in virtual time."""
    return LenientHarness()


globals().update(pytest_classes(BROKER_SUITES))
