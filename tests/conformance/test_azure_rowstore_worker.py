"""The real worker keeps its promises over Azure Storage Queues under the shared core."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES
from tenure.testing.conformance.worker.crashpoints import CrashPoints

from .azure_harness import RowStoreAzureHarness
from .test_azure_worker import KilledAnywhere


class SeldomHarness(RowStoreAzureHarness):
    """Looks at an empty queue seldom: virtual hours cost nothing, but calls to a real server do."""

    options = ("core=rowstore", "poll_seconds=5")


@pytest.fixture
def harness() -> RowStoreAzureHarness:
    """A fresh prefix in virtual time."""
    return SeldomHarness()


_SUITES = [KilledAnywhere if suite is CrashPoints else suite for suite in WORKER_SUITES]

globals().update(pytest_classes(_SUITES))
