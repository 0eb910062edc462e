"""The real worker keeps its promises over SQS and DynamoDB, where that could differ from any other state."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker.completing import Completing
from tenure.testing.conformance.worker.crashpoints import CrashPoints
from tenure.testing.conformance.worker.keys import WorkerKeys

from .aws_harness import DynamoHarness


class KilledAnywhere:
    """Of the crash points one kind: they cost a minute each on DynamoDB, and all of them are tried over SQS already."""

    test_of_a_message_with_a_key = CrashPoints.test_of_a_message_with_a_key


@pytest.fixture
def harness() -> DynamoHarness:
    """Fresh queues in virtual time."""
    return DynamoHarness()


globals().update(pytest_classes((Completing, WorkerKeys, KilledAnywhere)))
