"""SQS keeps the contract with three physical queues to a queue."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.broker import Browsing, Delays, Lending, Priority, Waiting

from .aws_harness import PriorityHarness


@pytest.fixture
def harness() -> PriorityHarness:
    """Fresh queues in virtual time."""
    return PriorityHarness()


globals().update(pytest_classes((Browsing, Delays, Lending, Priority, Waiting)))
