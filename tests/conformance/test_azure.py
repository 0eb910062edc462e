"""Azure Storage Queues, with state in Tables, keep the contract."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .azure_harness import AzureHarness


@pytest.fixture
def harness() -> AzureHarness:
    """A fresh prefix in virtual time."""
    return AzureHarness()


globals().update(pytest_classes(ALL_SUITES))
