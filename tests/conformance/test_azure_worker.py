"""The real worker keeps its promises over Azure Storage Queues."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .azure_harness import AzureHarness


class SeldomHarness(AzureHarness):
    """Looks at an empty queue seldom: virtual hours cost nothing, but calls to a real server do."""

    options = ("poll_seconds=5",)


@pytest.fixture
def harness() -> AzureHarness:
    """A fresh prefix in virtual time."""
    return SeldomHarness()


globals().update(pytest_classes(WORKER_SUITES))
