"""DynamoDB keeps the contract of the state, and of the broker where much depends on it."""

import pytest

from tenure.testing.conformance import STATE_SUITES, pytest_classes
from tenure.testing.conformance.broker import (
    Announcing,
    Cancelling,
    Crashing,
    DeadLetters,
    Fencing,
    Retiring,
    Returning,
    Settling,
    Uniqueness,
)

from .aws_harness import DynamoHarness


@pytest.fixture
def harness() -> DynamoHarness:
    """Fresh queues and a fresh table in virtual time."""
    return DynamoHarness()


_BROKER = (Announcing, Cancelling, Crashing, DeadLetters, Fencing, Retiring, Returning, Settling, Uniqueness)

globals().update(pytest_classes((*STATE_SUITES, *_BROKER)))
