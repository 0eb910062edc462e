"""The real worker keeps its promises over Azure Storage Queues."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES
from tenure.testing.conformance.worker.crashpoints import CrashPoints

from .azure_harness import AzureHarness


class SeldomHarness(AzureHarness):
    """Looks at an empty queue seldom: virtual hours cost nothing, but calls to a real server do."""

    options = ("poll_seconds=5",)


class KilledAnywhere:
    """Of the crash points those that take seconds; of the others every verb is cut off at every call elsewhere."""

    test_of_a_message = CrashPoints.test_of_a_message
    test_of_a_message_with_a_key = CrashPoints.test_of_a_message_with_a_key
    test_of_a_message_with_a_checkpoint = CrashPoints.test_of_a_message_with_a_checkpoint
    test_of_a_message_with_a_key_and_a_hand_off = CrashPoints.test_of_a_message_with_a_key_and_a_hand_off


@pytest.fixture
def harness() -> AzureHarness:
    """A fresh prefix in virtual time."""
    return SeldomHarness()


_SUITES = [KilledAnywhere if suite is CrashPoints else suite for suite in WORKER_SUITES]

globals().update(pytest_classes(_SUITES))
