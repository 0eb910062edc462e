"""Azure Storage Queues and Tables under the shared core (`?core=rowstore`) keep the contract."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .azure_harness import RowStoreAzureHarness


@pytest.fixture
def harness() -> RowStoreAzureHarness:
    """A fresh prefix in virtual time."""
    return RowStoreAzureHarness()


globals().update(pytest_classes(ALL_SUITES))
